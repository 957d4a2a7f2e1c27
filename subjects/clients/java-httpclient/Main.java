// Fetches the URLs of stdin with the JDK's HttpClient and prints one CSV line a URL.

import com.google.gson.JsonElement;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;

public final class Main {
    private static final int MAX_REDIRECTS = 10;
    private static final Set<Integer> REDIRECTS = Set.of(301, 302, 303, 307, 308);

    // Seconds that an idle connection waits for the next URL of its host: a crawl rarely returns to one.
    private static final String IDLE_SECONDS = "1";

    // Answers for the client, but not for the contract.
    private static final String NOT_HTTP_2 = "NotHTTP2";
    private static final String TOO_MANY_REDIRECTS = "TooManyRedirects";
    private static final Set<String> NO_ANSWERS = Set.of(NOT_HTTP_2, TOO_MANY_REDIRECTS);

    private static final byte[] NOTHING = {};

    // Bytes are read and written unchanged: a URL is printed as it was read, whatever its encoding.
    private static final Charset BYTES = StandardCharsets.ISO_8859_1;

    private static final DateTimeFormatter TIMESTAMP =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSSX").withZone(ZoneOffset.UTC);

    // The form of a URL, checked before URI reads it: URI would accept other schemes and invalid hosts.
    private static final Pattern URL = Pattern.compile("https?://[^\\s/?#]\\S*", Pattern.CASE_INSENSITIVE);

    private final Settings settings;
    private final HttpClient client;
    private final BodyPublisher body;
    private final Semaphore slots;
    private final FileOutputStream output = new FileOutputStream(FileDescriptor.out);

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0 && arguments[0].equals("--version")) {
            System.out.println(System.getProperty("java.version"));
            return;
        }
        try {
            new Main(Settings.read(System.getenv())).crawl();
        } catch (Settings.SettingException error) {
            System.err.println("java-httpclient: " + error.getMessage());
            System.exit(127);
        }
        // An abandoned request may still look up a name.
        System.exit(0);
    }

    private Main(Settings settings) throws NoSuchAlgorithmException {
        this.settings = settings;
        slots = new Semaphore(settings.concurrency());
        client = newClient(settings);
        body = settings.body().isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(settings.body());
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

    private static HttpClient newClient(Settings settings) throws NoSuchAlgorithmException {
        // The client reads these when its classes are loaded.
        System.setProperty("jdk.httpclient.keepalive.timeout", IDLE_SECONDS);
        System.setProperty("jdk.httpclient.redirects.retrylimit", String.valueOf(MAX_REDIRECTS + 1)); // requests
        System.setProperty("jdk.httpclient.allowRestrictedHeaders", "connection");
        // Else TLS keeps the sessions of the last 20,480 hosts. Creating the context here reads the trust store in
        // advance.
        SSLContext.getDefault().getClientSessionContext().setSessionCacheSize(settings.concurrency());

        HttpClient.Builder builder = HttpClient.newBuilder()
                .followRedirects(HttpClient.Redirect.ALWAYS) // from https to http too
                .connectTimeout(settings.requestTimeout());
        // Java 17 keeps each connection of HTTP/2 for good.
        if (settings.httpVersion().equals("1.1") || !settings.keepAlive()) {
            builder.version(HttpClient.Version.HTTP_1_1);
        }
        return builder.build();
    }

    // Fetches one URL. When it is done, `url,code,start_time,duration,body_length` is printed, and its slot is free.
    private void fetch(String line) {
        Instant startTime = Instant.now();
        long start = System.nanoTime();
        Content content = new Content(settings.checkJson());
        CompletableFuture<HttpResponse<Void>> answer = send(line, content);
        // HttpRequest's own timeout ends with the head of an answer.
        long timeout = settings.requestTimeout().toNanos();
        answer.copy().orTimeout(timeout, TimeUnit.NANOSECONDS).whenComplete((response, error) -> {
            long duration = System.nanoTime() - start;
            if (error != null) {
                answer.cancel(true);
            }
            String code = code(response, error, content);
            long bodyLength = error == null && !NO_ANSWERS.contains(code) ? content.length : 0;
            print("%s,%s,%s,%.3f,%d\n".formatted(line, code, TIMESTAMP.format(startTime), duration / 1e6, bodyLength));
            slots.release();
        });
    }

    private CompletableFuture<HttpResponse<Void>> send(String line, Content content) {
        try {
            String url = new String(line.getBytes(BYTES), StandardCharsets.UTF_8).strip();
            if (!URL.matcher(url).matches()) {
                throw new URISyntaxException(url, "not an absolute http or https URL");
            }
            HttpRequest.Builder request = HttpRequest.newBuilder(new URI(new URI(url).toASCIIString()));
            if (!settings.method().equals("GET")) {
                request.method(settings.method(), body);
            }
            if (!settings.userAgent().isEmpty()) {
                request.setHeader("User-Agent", settings.userAgent());
            }
            if (!settings.keepAlive()) {
                request.setHeader("Connection", "close");
            }
            return client.sendAsync(request.build(), BodyHandlers.ofByteArrayConsumer(content));
        } catch (URISyntaxException | IllegalArgumentException error) {
            return CompletableFuture.failedFuture(error);
        }
    }

    // The final status, or the name of an error.
    private String code(HttpResponse<Void> response, Throwable error, Content content) {
        if (error != null) {
            return Cause.name(error);
        }
        if (settings.httpVersion().equals("2") && response.version() != HttpClient.Version.HTTP_2) {
            return NOT_HTTP_2; // the client has no setting for one version only
        }
        if (isEleventhRedirect(response)) {
            return TOO_MANY_REDIRECTS; // the client returns it as the answer
        }
        return settings.checkJson() && !content.isExpected() ? "CheckFailed" : String.valueOf(response.statusCode());
    }

    private static boolean isEleventhRedirect(HttpResponse<?> response) {
        int redirects = 0;
        for (HttpResponse<?> answer = response; answer.previousResponse().isPresent(); redirects++) {
            answer = answer.previousResponse().get();
        }
        return redirects == MAX_REDIRECTS
                && REDIRECTS.contains(response.statusCode())
                && response.headers().firstValue("Location").isPresent();
    }

    private synchronized void print(String row) {
        try {
            output.write(row.getBytes(BYTES));
        } catch (IOException error) {
            Runtime.getRuntime().halt(1); // the reader closed the pipe
        }
    }

    /** Receives the content of an answer: counts its bytes, and keeps them if they will be checked. */
    private static final class Content implements Consumer<Optional<byte[]>> {
        private final ByteArrayOutputStream kept;
        private long length;

        Content(boolean keep) {
            kept = keep ? new ByteArrayOutputStream() : null;
        }

        @Override
        public void accept(Optional<byte[]> chunk) {
            byte[] bytes = chunk.orElse(NOTHING);
            length += bytes.length;
            if (kept != null) {
                kept.writeBytes(bytes);
            }
        }

        /** Whether the content is a JSON list whose first document has the required number. */
        boolean isExpected() {
            try {
                JsonElement document = JsonParser.parseString(kept.toString(StandardCharsets.UTF_8));
                return new JsonPrimitive(123123).equals(document.getAsJsonArray().get(0).getAsJsonObject().get("numbers"));
            } catch (JsonParseException | IllegalStateException | IndexOutOfBoundsException error) {
                return false;
            }
        }
    }
}
