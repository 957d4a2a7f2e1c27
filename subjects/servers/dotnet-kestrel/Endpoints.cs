// Two documents, and requests that run parallel work.
using System;
using System.IO;
using System.Linq;
using System.Text;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http;

internal sealed class Endpoints
{
    // The highest count: each needs its timers.
    private const int Most = 100;
    private static readonly byte[] Hello = Encoding.ASCII.GetBytes("Hello, World!");
    private static readonly byte[] NoRequest = Encoding.ASCII.GetBytes(
        "content must be {\"text\": a string, \"count\": a whole number from 1 to 100}\n");
    private static readonly byte[] TimedOut = Encoding.ASCII.GetBytes("timed out\n");

    private readonly Settings _settings;
    private readonly byte[] _document;

    public Endpoints(Settings settings, byte[] document)
    {
        _settings = settings;
        _document = document;
    }

    public Task Plain(HttpContext context) => Answer(context, 200, "text/plain", Hello);

    public Task Document(HttpContext context) => Answer(context, 200, "application/json", _document);

    /// <summary>Wait for all workloads of a request, in parallel, and return its text once for each.</summary>
    public async Task Workloads(HttpContext context)
    {
        using var content = new MemoryStream();
        await context.Request.Body.CopyToAsync(content);
        if (!TryRead(content.ToArray(), out string text, out int count))
        {
            await Answer(context, 400, "text/plain", NoRequest);
            return;
        }
        // Also cancelled when the client disconnects.
        using var patience = CancellationTokenSource.CreateLinkedTokenSource(context.RequestAborted);
        if (_settings.TimeoutMs is int timeoutMs)
        {
            patience.CancelAfter(timeoutMs);
        }
        string[] texts;
        try
        {
            var waits = Enumerable.Repeat(_settings.WorkloadsMs, count).SelectMany(each => each);
            texts = await Task.WhenAll(waits.Select(waitMs => Workload(text, waitMs, patience.Token)));
        }
        catch (OperationCanceledException)
        {
            await Answer(context, 503, "text/plain", TimedOut);
            return;
        }
        await Answer(context, 200, "application/json", JsonSerializer.SerializeToUtf8Bytes(new { texts }));
    }

    private static async Task<string> Workload(string text, int waitMs, CancellationToken cancelled)
    {
        await Task.Delay(waitMs, cancelled);
        return text;
    }

    private static bool TryRead(byte[] content, out string text, out int count)
    {
        text = "";
        count = 0;
        try
        {
            using var document = JsonDocument.Parse(content);
            var root = document.RootElement;
            if (root.ValueKind != JsonValueKind.Object
                || !root.TryGetProperty("text", out var textValue) || textValue.ValueKind != JsonValueKind.String
                || !root.TryGetProperty("count", out var countValue) || countValue.ValueKind != JsonValueKind.Number)
            {
                return false;
            }
            text = textValue.GetString()!;
            return countValue.TryGetInt32(out count) && count >= 1 && count <= Most;
        }
        catch (Exception error) when (error is JsonException || error is InvalidOperationException)
        {
            // InvalidOperationException: half of a surrogate pair.
            return false;
        }
    }

    private static async Task Answer(HttpContext context, int status, string contentType, byte[] content)
    {
        context.Response.StatusCode = status;
        context.Response.ContentType = contentType;
        context.Response.ContentLength = content.Length;
        await context.Response.Body.WriteAsync(content, 0, content.Length);
    }
}
