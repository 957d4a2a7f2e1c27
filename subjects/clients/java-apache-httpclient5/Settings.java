// The adapter's settings, read from the environment.

import java.time.Duration;
import java.util.List;
import java.util.Map;

record Settings(
        int concurrency,
        Duration requestTimeout,
        String userAgent,
        boolean keepAlive,
        boolean checkJson) {

    /** A variable has an invalid value; the message is one line that names it. */
    static final class SettingException extends Exception {
        SettingException(String name, String wanted, String found) {
            super("%s must be %s, not \"%s\"".formatted(name, wanted, found));
        }
    }

    static Settings read(Map<String, String> environment) throws SettingException {
        oneOf(environment, "HTTP_VERSION", "", "empty or 1.1 (the classic HttpClient speaks nothing else)", "", "1.1");
        oneOf(environment, "METHOD", "GET", "empty or GET", "GET");
        return new Settings(
                concurrency(environment),
                requestTimeout(environment),
                environment.getOrDefault("USER_AGENT", ""),
                oneOf(environment, "KEEPALIVE", "1", "0 or 1", "1", "0").equals("1"),
                oneOf(environment, "CHECK", "", "empty or json", "", "json").equals("json"));
    }

    private static int concurrency(Map<String, String> environment) throws SettingException {
        String text = variable(environment, "CONCURRENCY", "10");
        // As many digits as always fit an int.
        if (!text.matches("0*[1-9][0-9]{0,8}")) {
            throw new SettingException("CONCURRENCY", "a whole number from 1, up to 999999999", text);
        }
        return Integer.parseInt(text);
    }

    private static Duration requestTimeout(Map<String, String> environment) throws SettingException {
        String text = variable(environment, "REQUEST_TIMEOUT", "5");
        // Nine digits are thirty years, and fit a Duration's nanoseconds in a long. parseDouble alone would read "5f" too.
        double seconds = text.matches("[0-9]{1,9}(\\.[0-9]*)?|\\.[0-9]+") ? Double.parseDouble(text) : 0;
        if (seconds <= 0) {
            throw new SettingException("REQUEST_TIMEOUT", "a number of seconds above 0", text);
        }
        return Duration.ofNanos(Math.max(1, Math.round(seconds * 1e9)));
    }

    private static String oneOf(
            Map<String, String> environment, String name, String missing, String wanted, String... values)
            throws SettingException {
        String text = variable(environment, name, missing);
        if (!List.of(values).contains(text)) {
            throw new SettingException(name, wanted, text);
        }
        return text;
    }

    private static String variable(Map<String, String> environment, String name, String missing) {
        String text = environment.getOrDefault(name, "");
        return text.isEmpty() ? missing : text;
    }
}
