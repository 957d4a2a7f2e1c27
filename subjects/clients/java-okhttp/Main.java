// Fetches the URLs of stdin with OkHttp and prints one CSV line a URL.

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
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.ConnectionPool;
import okhttp3.OkHttp;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

public final class Main {
    private static final int MAX_REDIRECTS = 10;
    private static final int READ_BYTES = 8192; // OkHttp reads segments of this size

    // Seconds that an idle connection waits for the next URL of its host: a crawl rarely returns to one.
    private static final int IDLE_SECONDS = 1;

    // Bytes are read and written unchanged: a URL is printed as it was read, whatever its encoding.
    private static final Charset BYTES = StandardCharsets.ISO_8859_1;

    private static final DateTimeFormatter TIMESTAMP =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSSX").withZone(ZoneOffset.UTC);

    // OkHttp alone would repair blanks, slashes and a missing host.
    private static final Pattern URL = Pattern.compile("https?://[^\\s/?#]\\S*", Pattern.CASE_INSENSITIVE);

    private final Settings settings;
    private final OkHttpClient client;
    private final RequestBody body;
    private final Semaphore slots;
    private final FileOutputStream output = new FileOutputStream(FileDescriptor.out);

    /** Outcome of a URL: its status or the name of an error, and the number of bytes of content read. */
    private record Answer(String code, long bodyLength) {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0 && arguments[0].equals("--version")) {
            System.out.println(OkHttp.VERSION);
            return;
        }
        try {
            new Main(Settings.read(System.getenv())).crawl();
        } catch (Settings.SettingException error) {
            System.err.println("java-okhttp: " + error.getMessage());
            System.exit(127);
        }
        // Threads wait for another call, and some for the name of an abandoned one.
        System.exit(0);
    }

    private Main(Settings settings) {
        this.settings = settings;
        slots = new Semaphore(settings.concurrency());
        client = newClient(settings);
        body = newBody(settings);
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

    // The content of each request; null for none. OkHttp requires content, empty or not, for some methods.
    private static RequestBody newBody(Settings settings) {
        boolean isRequired = Set.of("POST", "PUT", "PATCH", "PROPPATCH", "REPORT").contains(settings.method());
        return settings.body().isEmpty() && !isRequired ? null : RequestBody.create(settings.body(), null);
    }

    private static OkHttpClient newClient(Settings settings) {
        // Else TLS keeps the sessions of the last 20,480 hosts. Java reads it when the client makes its context.
        System.setProperty("javax.net.ssl.sessionCacheSize", String.valueOf(settings.concurrency()));
        int idleConnections = settings.keepAlive() ? settings.concurrency() : 0;
        OkHttpClient.Builder builder = new OkHttpClient.Builder()
                .connectionPool(new ConnectionPool(idleConnections, IDLE_SECONDS, TimeUnit.SECONDS))
                // A call as a whole is bounded by fetch: these are ten seconds each.
                .connectTimeout(Duration.ZERO)
                .readTimeout(Duration.ZERO)
                .writeTimeout(Duration.ZERO);
        if (settings.httpVersion().equals("1.1")) {
            builder.protocols(List.of(Protocol.HTTP_1_1));
        }
        OkHttpClient client = builder.build();
        // The slots are the limit. An abandoned call may still look up its name: it must not block another one.
        client.dispatcher().setMaxRequests(Integer.MAX_VALUE);
        client.dispatcher().setMaxRequestsPerHost(Integer.MAX_VALUE);
        return client;
    }

    // Fetches one URL. When it is done, `url,code,start_time,duration,body_length` is printed, and its slot is free.
    private void fetch(String line) {
        Instant startTime = Instant.now();
        long start = System.nanoTime();
        CompletableFuture<Answer> answer = new CompletableFuture<>();
        Call call = enqueue(line, answer);
        // OkHttp's own callTimeout waits for the system's lookup of a name, which cannot be interrupted.
        answer.orTimeout(settings.requestTimeout().toNanos(), TimeUnit.NANOSECONDS).whenComplete((done, error) -> {
            long duration = System.nanoTime() - start;
            if (error != null && call != null) {
                call.cancel();
            }
            String code = error == null ? done.code() : Cause.name(error);
            long bodyLength = error == null ? done.bodyLength() : 0;
            print("%s,%s,%s,%.3f,%d\n".formatted(line, code, TIMESTAMP.format(startTime), duration / 1e6, bodyLength));
            slots.release();
        });
    }

    // Starts a call whose outcome completes the answer; null if the line is not a URL.
    private Call enqueue(String line, CompletableFuture<Answer> answer) {
        String url = new String(line.getBytes(BYTES), StandardCharsets.UTF_8).strip();
        Request.Builder request = new Request.Builder();
        try {
            if (!URL.matcher(url).matches()) {
                throw new IllegalArgumentException("not an absolute http or https URL");
            }
            request.url(url);
        } catch (IllegalArgumentException error) {
            answer.complete(new Answer("InvalidURL", 0));
            return null;
        }
        if (!settings.method().equals("GET")) {
            request.method(settings.method(), body);
        }
        if (!settings.userAgent().isEmpty()) {
            request.header("User-Agent", settings.userAgent());
        }
        if (!settings.keepAlive()) {
            request.header("Connection", "close");
        }
        Call call = client.newCall(request.build());
        call.enqueue(new Callback() {
            @Override
            public void onResponse(Call call, Response response) {
                try (response) {
                    answer.complete(read(response));
                } catch (IOException | RuntimeException error) {
                    answer.completeExceptionally(error);
                }
            }

            @Override
            public void onFailure(Call call, IOException error) {
                answer.completeExceptionally(error);
            }
        });
        return call;
    }

    // The final status and the bytes of content after decoding.
    private Answer read(Response response) throws IOException {
        if (settings.httpVersion().equals("2") && response.protocol() != Protocol.HTTP_2) {
            return new Answer("NotHTTP2", 0); // OkHttp has no setting for one version only
        }
        if (redirects(response) > MAX_REDIRECTS) {
            return new Answer("TooManyRedirects", 0); // OkHttp follows twenty; that cannot be set
        }
        String code = String.valueOf(response.code());
        if (settings.checkJson()) {
            byte[] content = response.body().bytes();
            return new Answer(isExpected(content) ? code : "CheckFailed", content.length);
        }
        byte[] buffer = new byte[READ_BYTES];
        long bodyLength = 0;
        InputStream content = response.body().byteStream();
        for (int read = content.read(buffer); read >= 0; read = content.read(buffer)) {
            bodyLength += read;
        }
        return new Answer(code, bodyLength);
    }

    private static int redirects(Response response) {
        int redirects = 0;
        for (Response prior = response.priorResponse(); prior != null; prior = prior.priorResponse()) {
            redirects++;
        }
        return redirects;
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
