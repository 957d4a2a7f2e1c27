// The name of an error: Java's or the system's name of its innermost cause.

import java.io.IOException;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.net.SocketException;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

final class Cause {
    // Classes that say little: the message says what happened.
    private static final Set<Class<?>> GENERAL =
            Set.of(IOException.class, ConnectException.class, ProtocolException.class, SocketException.class);

    private static final Pattern WORD = Pattern.compile("[A-Za-z]+");

    private Cause() {}

    /** The class of the innermost cause, such as {@code CertificateExpiredException}, or {@code ConnectionReset}. */
    static String name(Throwable error) {
        Throwable inner = error;
        while (inner.getCause() != null) {
            inner = inner.getCause();
        }
        String name = GENERAL.contains(inner.getClass()) ? words(inner.getMessage()) : "";
        return name.isEmpty() ? inner.getClass().getSimpleName() : name;
    }

    // The first words of a message as one: `Connection reset`, `fixed content-length: 9, bytes received: 4`.
    private static String words(String message) {
        StringBuilder name = new StringBuilder();
        Matcher words = WORD.matcher(message == null ? "" : message.split("[:;,(\"]")[0]);
        while (words.find()) {
            name.append(words.group().substring(0, 1).toUpperCase()).append(words.group().substring(1));
        }
        return name.toString();
    }
}
