// The adapter's settings, read from the environment.
using System;
using System.Globalization;
using System.Net.Http;

/// <summary>A variable has an invalid value; the message is one line that names it.</summary>
internal sealed class SettingException : Exception
{
    public SettingException(string name, string wanted, string found)
        : base($"{name} must be {wanted}, not \"{found}\"")
    {
    }
}

internal sealed class Settings
{
    // The longest wait of a CancellationTokenSource: 2^31 - 1 milliseconds.
    private const double LongestSeconds = 2147483;

    public int Concurrency { get; } = ReadConcurrency();

    public TimeSpan RequestTimeout { get; } = ReadRequestTimeout();

    public string UserAgent { get; } = Variable("USER_AGENT", "");

    public HttpMethod Method { get; } = ReadMethod();

    /// <summary>Empty: none.</summary>
    public string Body { get; } = Variable("BODY", "");

    public bool KeepAlive { get; } = OneOf("KEEPALIVE", "1", "0 or 1", "1", "0") == "1";

    public bool CheckJson { get; } = OneOf("CHECK", "", "empty or json", "", "json") == "json";

    /// <summary>HTTP/1.1 by default, as in HttpClient.</summary>
    public Version HttpVersion { get; } =
        OneOf("HTTP_VERSION", "1.1", "empty, 1.1 or 2", "1.1", "2") == "2" ? new Version(2, 0) : new Version(1, 1);

    private static HttpMethod ReadMethod()
    {
        string text = Variable("METHOD", "GET");
        string body = Variable("BODY", "");
        if (text == "GET" && body.Length > 0)
        {
            throw new SettingException("BODY", "empty with METHOD=GET", body);
        }
        try
        {
            return new HttpMethod(text);
        }
        catch (FormatException)
        {
            throw new SettingException("METHOD", "a token such as POST", text);
        }
    }

    private static int ReadConcurrency()
    {
        string text = Variable("CONCURRENCY", "10");
        bool isNumber = int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number);
        return isNumber && number >= 1 ? number : throw new SettingException("CONCURRENCY", "a whole number from 1", text);
    }

    private static TimeSpan ReadRequestTimeout()
    {
        string text = Variable("REQUEST_TIMEOUT", "5");
        bool isNumber = double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out double seconds);
        return isNumber && seconds > 0 && seconds <= LongestSeconds
            ? TimeSpan.FromSeconds(seconds)
            : throw new SettingException("REQUEST_TIMEOUT", $"a number of seconds above 0, up to {LongestSeconds}", text);
    }

    private static string OneOf(string name, string missing, string wanted, params string[] values)
    {
        string text = Variable(name, missing);
        return Array.IndexOf(values, text) >= 0 ? text : throw new SettingException(name, wanted, text);
    }

    private static string Variable(string name, string missing)
    {
        string? text = Environment.GetEnvironmentVariable(name);
        return string.IsNullOrEmpty(text) ? missing : text;
    }
}
