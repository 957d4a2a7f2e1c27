// The server's settings, read from the environment.
using System;
using System.Globalization;
using System.Linq;
using System.Net;
using System.Threading;

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
    private const int LongestMs = 600_000;
    private const int MostWaits = 100;
    private const int MostThreads = 10_000;

    public Settings()
    {
        // There is one process.
        Number("WORKERS", 1, 1);
        int? threads = Number("THREADS", 1, MostThreads);
        ThreadPool.GetMaxThreads(out int most, out _);
        if (threads is int wanted && wanted != most)
        {
            throw new SettingException("THREADS", $"{most}, which this runtime insists on", $"{wanted}");
        }
    }

    public IPAddress Host { get; } = ReadHost();

    public int Port { get; } = Number("PORT", 1, 65_535) ?? 8080;

    /// <summary>How long each wait takes, in milliseconds.</summary>
    public int[] WorkloadsMs { get; } = ReadWorkloads();

    /// <summary>After how many milliseconds a request is abandoned; null: never.</summary>
    public int? TimeoutMs { get; } = Number("TIMEOUT_MS", 1, LongestMs);

    private static IPAddress ReadHost()
    {
        string text = Variable("HOST", "127.0.0.1");
        // .NET accepts short forms such as "1" as addresses, too.
        return IPAddress.TryParse(text, out IPAddress? address) && address!.ToString() == text && !text.Contains(':')
            ? address
            : throw new SettingException("HOST", "an IPv4 address", text);
    }

    private static int[] ReadWorkloads()
    {
        string text = Variable("WORKLOADS_MS", "500,1000,2000");
        int?[] waits = text.Split(',').Select(wait => Whole(wait)).ToArray();
        return waits.Length <= MostWaits && waits.All(wait => wait <= LongestMs)
            ? waits.Select(wait => wait!.Value).ToArray()
            : throw new SettingException(
                "WORKLOADS_MS", $"up to {MostWaits} whole milliseconds up to {LongestMs}, joined by commas", text);
    }

    private static int? Number(string name, int lowest, int highest)
    {
        string text = Variable(name, "");
        if (text == "")
        {
            return null;
        }
        string wanted = highest > lowest ? $"a whole number from {lowest} to {highest}" : $"{lowest}";
        return Whole(text) is int number && number >= lowest && number <= highest
            ? number
            : throw new SettingException(name, wanted, text);
    }

    private static int? Whole(string text) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number) ? number : (int?)null;

    private static string Variable(string name, string missing)
    {
        string? text = Environment.GetEnvironmentVariable(name);
        return string.IsNullOrEmpty(text) ? missing : text;
    }
}
