// Fetches the URLs of stdin with Apache HttpClient 5 and prints one CSV line a URL.

import com.google.gson.JsonElement;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.client5.http.config.ConnectionConfig;
import org.apache.hc.client5.http.config.RequestConfig;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClientBuilder;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.hc.core5.http.ClassicHttpResponse;
import org.apache.hc.core5.http.HeaderElements;
import org.apache.hc.core5.http.HttpEntity;
import org.apache.hc.core5.http.HttpHeaders;
import org.apache.hc.core5.http.io.entity.EntityUtils;
import org.apache.hc.core5.util.TimeValue;
import org.apache.hc.core5.util.Timeout;
import org.apache.hc.core5.util.VersionInfo;

public final class Main {
    private static final int MAX_REDIRECTS = 10;
    private static final int READ_BYTES = 8192;

    // How long an idle connection waits for the next URL of its host: a crawl rarely returns to one.
    private static final TimeValue IDLE_TIME = TimeValue.ofSeconds(1);

    // Bytes are read and written unchanged: a URL is printed as it was read, whatever its encoding.
    private static final Charset BYTES = StandardCharsets.ISO_8859_1;

    private static final DateTimeFormatter TIMESTAMP =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSSX").withZone(ZoneOffset.UTC);

    // The form of a URL, checked before URI reads it: URI would accept other schemes and invalid hosts.
    private static final Pattern URL = Pattern.compile("https?://[^\\s/?#]\\S*", Pattern.CASE_INSENSITIVE);

    private final Settings settings;
    private final CloseableHttpClient client;
    private final Semaphore slots;
    // The client blocks. More than slots, as the system's lookup of a name cannot be interrupted when its request is
    // abandoned.
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final FileOutputStream output = new FileOutputStream(FileDescriptor.out);

    /** Outcome of a URL: its status or the name of an error, and the number of bytes of content read. */
    private record Answer(String code, long bodyLength) {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0 && arguments[0].equals("--version")) {
            System.out.println(VersionInfo.loadVersionInfo("org.apache.hc.client5", null).getRelease());
            return;
        }
        try {
            new Main(Settings.read(System.getenv())).crawl();
        } catch (Settings.SettingException error) {
            System.err.println("java-apache-httpclient5: " + error.getMessage());
            System.exit(127);
        }
        // Threads wait for another request, and some for the name of an abandoned one.
        System.exit(0);
    }

    private Main(Settings settings) {
        this.settings = settings;
        slots = new Semaphore(settings.concurrency());
        client = newClient(settings);
    }

    private void crawl() throws IOException, InterruptedException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, BYTES));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (!line.isEmpty()) {
                slots.acquire();
                fetch(line);
            }
        }
        slots.acquire(settings.concurrency());
    }

    private static CloseableHttpClient newClient(Settings settings) {
        // Else TLS keeps the sessions of the last 20,480 hosts. Java reads it when the client makes its context.
        System.setProperty("javax.net.ssl.sessionCacheSize", String.valueOf(settings.concurrency()));
        Timeout timeout = Timeout.of(settings.requestTimeout());
        // fetch bounds a request as a whole; these end abandoned requests, and are minutes by default.
        ConnectionConfig connections =
                ConnectionConfig.custom().setConnectTimeout(timeout).setSocketTimeout(timeout).build();
        HttpClientBuilder builder = HttpClients.custom()
                .setConnectionManager(PoolingHttpClientConnectionManagerBuilder.create()
                        .setDefaultConnectionConfig(connections)
                        // The slots are the limit. An abandoned request may still look up its name.
                        .setMaxConnTotal(Integer.MAX_VALUE)
                        .setMaxConnPerRoute(Integer.MAX_VALUE)
                        .build())
                .setDefaultRequestConfig(RequestConfig.custom().setMaxRedirects(MAX_REDIRECTS).build())
                .evictIdleConnections(IDLE_TIME)
                .disableCookieManagement()
                // It would retry after a 429 or a 503.
                .disableAutomaticRetries();
        if (!settings.userAgent().isEmpty()) {
            builder.setUserAgent(settings.userAgent());
        }
        if (!settings.keepAlive()) {
            builder.setConnectionReuseStrategy((request, response, context) -> false);
        }
        return builder.build();
    }

    // Fetches one URL. When it is done, `url,code,start_time,duration,body_length` is printed, and its slot is free.
    private void fetch(String line) {
        Instant startTime = Instant.now();
        long start = System.nanoTime();
        HttpGet request = request(line);
        CompletableFuture<Answer> answer = request == null
                ? CompletableFuture.completedFuture(new Answer("InvalidURL", 0))
                : CompletableFuture.supplyAsync(() -> send(request), threads);
        answer.orTimeout(settings.requestTimeout().toNanos(), TimeUnit.NANOSECONDS).whenComplete((done, error) -> {
            long duration = System.nanoTime() - start;
            String code = error == null ? done.code() : Cause.name(error);
            long bodyLength = error == null ? done.bodyLength() : 0;
            print("%s,%s,%s,%.3f,%d\n".formatted(line, code, TIMESTAMP.format(startTime), duration / 1e6, bodyLength));
            slots.release();
            if (error != null && request != null) {
                threads.execute(request::cancel); // may have to wait for a TLS handshake to release its socket
            }
        });
    }

    // The request for a line; null if the line is not a URL.
    private HttpGet request(String line) {
        String url = new String(line.getBytes(BYTES), StandardCharsets.UTF_8).strip();
        if (!URL.matcher(url).matches()) {
            return null;
        }
        try {
            HttpGet request = new HttpGet(new URI(url).toASCIIString());
            if (!settings.keepAlive()) {
                request.setHeader(HttpHeaders.CONNECTION, HeaderElements.CLOSE);
            }
            return request;
        } catch (URISyntaxException | IllegalArgumentException error) {
            return null;
        }
    }

    private Answer send(HttpGet request) {
        try {
            return client.execute(request, this::read);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    // The final status and the bytes of content after decoding.
    private Answer read(ClassicHttpResponse response) throws IOException {
        String code = String.valueOf(response.getCode());
        HttpEntity entity = response.getEntity();
        if (settings.checkJson()) {
            byte[] content = entity == null ? new byte[0] : EntityUtils.toByteArray(entity);
            return new Answer(isExpected(content) ? code : "CheckFailed", content.length);
        }
        return new Answer(code, entity == null ? 0 : length(entity.getContent()));
    }

    private static long length(InputStream content) throws IOException {
        byte[] buffer = new byte[READ_BYTES];
        long bodyLength = 0;
        for (int read = content.read(buffer); read >= 0; read = content.read(buffer)) {
            bodyLength += read;
        }
        return bodyLength;
    }

    // Whether the content is a JSON list whose first document has the required number.
    private static boolean isExpected(byte[] content) {
        try {
            JsonElement document = JsonParser.parseString(new String(content, StandardCharsets.UTF_8));
            return new JsonPrimitive(123123).equals(document.getAsJsonArray().get(0).getAsJsonObject().get("numbers"));
        } catch (JsonParseException | IllegalStateException | IndexOutOfBoundsException error) {
            return false;
        }
    }

    private synchronized void print(String row) {
        try {
            output.write(row.getBytes(BYTES));
        } catch (IOException error) {
            Runtime.getRuntime().halt(1); // the reader closed the pipe
        }
    }
}
