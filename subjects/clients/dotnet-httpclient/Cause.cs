// The name of an error: .NET's or the system's name of its innermost cause.
using System;
using System.Net.Sockets;
using System.Text.RegularExpressions;

internal static class Cause
{
    // The word at the end of some messages of .NET: "(ResponseEnded)", "in the certificate chain: NotTimeValid".
    private static readonly Regex LastWord = new Regex(@"(?:\((?<word>[A-Z]\w+)\)|: (?<word>[A-Z]\w+)(?:, \w+)*)$");

    /// <summary>
    /// <c>ConnectionRefused</c> or <c>HostNotFound</c> of a socket, <c>UntrustedRoot</c> of a certificate,
    /// <c>ResponseEnded</c> of HTTP, else the class of the exception without its ending: <c>Timeout</c>.
    /// </summary>
    public static string Name(Exception error)
    {
        error = error.GetBaseException();
        if (error is SocketException socket)
        {
            return socket.SocketErrorCode.ToString();
        }
        Match match = LastWord.Match(error.Message);
        return match.Success ? match.Groups["word"].Value : error.GetType().Name;
    }
}
