// Fetches the URLs of stdin with HttpClient and prints one CSV line a URL.
using System;
using System.Buffers;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Net;
using System.Net.Http;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

internal static class Program
{
    private const int MaxRedirects = 10;
    private const int ReadBytes = 65536;

    // How long an idle connection waits for the next URL of its host: a crawl rarely returns to one.
    private static readonly TimeSpan IdleTime = TimeSpan.FromSeconds(1);

    // Bytes are read and written unchanged: a URL is printed as it was read, whatever its encoding.
    private static readonly Encoding Bytes = Encoding.GetEncoding("iso-8859-1");

    // Uri alone would repair blanks.
    private static readonly Regex Url = new Regex(@"^https?://[^\s/?#]\S*$", RegexOptions.IgnoreCase);

    public static int Main(string[] arguments)
    {
        if (arguments.Length > 0 && arguments[0] == "--version")
        {
            Console.WriteLine(Environment.Version);
            return 0;
        }
        try
        {
            Crawl(new Settings());
            return 0;
        }
        catch (SettingException error)
        {
            Console.Error.WriteLine($"dotnet-httpclient: {error.Message}");
            return 127;
        }
    }

    private static void Crawl(Settings settings)
    {
        // A name is looked up by a thread that blocks. The pool is slow to grow beyond its minimum, which is the number
        // of processors: a few silent name servers would block all other work, the timers too.
        ThreadPool.GetMinThreads(out int workers, out int completions);
        ThreadPool.SetMinThreads(Math.Max(workers, settings.Concurrency), completions);

        using HttpClient client = NewClient(settings);
        using var slots = new SemaphoreSlim(settings.Concurrency);
        using var input = new StreamReader(Console.OpenStandardInput(), Bytes);
        using Stream output = Console.OpenStandardOutput();

        async Task Work(string line)
        {
            byte[] row = Bytes.GetBytes(await Row(client, settings, line));
            try
            {
                lock (output)
                {
                    output.Write(row); // has no buffer
                }
            }
            catch (IOException)
            {
                Environment.Exit(1); // no row can be printed any more
            }
            slots.Release();
        }

        while (input.ReadLine() is string line)
        {
            if (line.Length > 0)
            {
                slots.Wait();
                _ = Task.Run(() => Work(line));
            }
        }
        for (int slot = 0; slot < settings.Concurrency; slot++)
        {
            slots.Wait();
        }
    }

    private static HttpClient NewClient(Settings settings)
    {
        var handler = new SocketsHttpHandler
        {
            AutomaticDecompression = DecompressionMethods.All,
            // HttpClient follows no redirect from https to http, with any setting: Fetch follows all redirects.
            AllowAutoRedirect = false,
            UseCookies = false,
            // An attempt to connect continues when its request is abandoned.
            ConnectTimeout = settings.RequestTimeout,
            PooledConnectionIdleTimeout = IdleTime,
        };
        // The timeout of HttpClient ends with the head of an answer: Row bounds the content too.
        var client = new HttpClient(handler) { Timeout = Timeout.InfiniteTimeSpan };
        if (settings.UserAgent.Length > 0)
        {
            client.DefaultRequestHeaders.TryAddWithoutValidation("User-Agent", settings.UserAgent);
        }
        if (!settings.KeepAlive)
        {
            client.DefaultRequestHeaders.ConnectionClose = true;
            handler.PooledConnectionLifetime = TimeSpan.Zero; // HTTP/2 has no such header
        }
        return client;
    }

    // Fetches one URL: `url,code,start_time,duration,body_length` and a line feed.
    private static async Task<string> Row(HttpClient client, Settings settings, string line)
    {
        DateTime startTime = DateTime.UtcNow;
        var watch = Stopwatch.StartNew();
        using var timeout = new CancellationTokenSource(settings.RequestTimeout);
        string code;
        long bodyLength = 0;
        try
        {
            string url = Encoding.UTF8.GetString(Bytes.GetBytes(line)).Trim();
            (code, bodyLength) = await Fetch(client, settings, url, timeout.Token);
        }
        catch (Exception error) // any error that a server causes affects only this URL's row
        {
            code = timeout.IsCancellationRequested ? "TimeoutException" : Cause.Name(error);
        }
        double duration = watch.Elapsed.TotalMilliseconds;
        return string.Format(
            CultureInfo.InvariantCulture,
            "{0},{1},{2:yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'},{3:F3},{4}\n",
            line, code, startTime, duration, bodyLength);
    }

    // The final status and the bytes of content after decoding.
    private static async Task<(string Code, long BodyLength)> Fetch(
        HttpClient client, Settings settings, string url, CancellationToken timeout)
    {
        if (!Url.IsMatch(url) || !Uri.TryCreate(url, UriKind.Absolute, out Uri? uri))
        {
            return ("InvalidURL", 0);
        }
        HttpMethod method = settings.Method;
        string body = settings.Body;
        for (int redirects = 0; redirects <= MaxRedirects; redirects++)
        {
            using var request = new HttpRequestMessage(method, uri) { Version = settings.HttpVersion };
            if (body.Length > 0)
            {
                request.Content = new StringContent(body);
            }
            using HttpResponseMessage response =
                await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, timeout);
            if (response.Version.Major < settings.HttpVersion.Major)
            {
                return ("VersionNegotiationError", 0); // a request names a version, but accepts others
            }
            if (Location(response) is Uri location)
            {
                uri = new Uri(uri, location);
                if (BecomesGet((int)response.StatusCode, method))
                {
                    (method, body) = (HttpMethod.Get, "");
                }
                continue;
            }
            using Stream content = await response.Content.ReadAsStreamAsync();
            string code = ((int)response.StatusCode).ToString(CultureInfo.InvariantCulture);
            return await Read(content, code, settings.CheckJson, timeout);
        }
        return ("TooManyRedirects", 0);
    }

    // Whether a redirect is followed with GET, as HttpClient follows it.
    private static bool BecomesGet(int status, HttpMethod method)
    {
        return status == 303 ? method != HttpMethod.Head : status <= 302 && method == HttpMethod.Post;
    }

    // The target of a redirect; null for any other answer.
    private static Uri? Location(HttpResponseMessage response)
    {
        switch ((int)response.StatusCode)
        {
            case 301:
            case 302:
            case 303:
            case 307:
            case 308:
                return response.Headers.Location;
            default:
                return null;
        }
    }

    private static async Task<(string Code, long BodyLength)> Read(
        Stream content, string code, bool checkJson, CancellationToken timeout)
    {
        if (checkJson)
        {
            using var document = new MemoryStream();
            await content.CopyToAsync(document, ReadBytes, timeout);
            return (IsExpected(document.ToArray()) ? code : "CheckFailed", document.Length);
        }
        byte[] buffer = ArrayPool<byte>.Shared.Rent(ReadBytes);
        try
        {
            long bodyLength = 0;
            int read;
            while ((read = await content.ReadAsync(buffer, timeout)) > 0)
            {
                bodyLength += read;
            }
            return (code, bodyLength);
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }

    // Whether the content is a JSON list whose first document has the required number.
    private static bool IsExpected(byte[] content)
    {
        try
        {
            using JsonDocument document = JsonDocument.Parse(content);
            JsonElement list = document.RootElement;
            return list.ValueKind == JsonValueKind.Array
                && list.GetArrayLength() > 0
                && list[0].ValueKind == JsonValueKind.Object
                && list[0].TryGetProperty("numbers", out JsonElement number)
                && number.ValueKind == JsonValueKind.Number
                && number.GetDouble() == 123123;
        }
        catch (JsonException)
        {
            return false;
        }
    }
}
