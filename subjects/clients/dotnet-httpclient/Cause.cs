// The name of an error: what its innermost cause is called by .NET or the system.
using System;
using System.Net.Sockets;
using System.Text.RegularExpressions;

internal static class Cause
{
    // The word that .NET puts behind some messages: "(ResponseEnded)", "in the certificate chain: NotTimeValid".
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
