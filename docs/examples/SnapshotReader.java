import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * An adapter in a language other than the kit's, in one file and without packages:
 *
 * <pre>pytest --impl="cmd:java docs/examples/SnapshotReader.java"</pre>
 *
 * It speaks the JSON lines of docs/formats.md ("Adapter messages") and reads one thing: protocol
 * and metadata of tables at reader version 1, from JSON commits. It has no Parquet reader, so a
 * table whose log begins with a checkpoint is refused, as is everything that it does not claim.
 */
public final class SnapshotReader {

    private static final Pattern COMMIT = Pattern.compile("(\\d{20})\\.json");
    private static final Pattern CHECKPOINT = Pattern.compile("\\d{20}\\.checkpoint\\..*");

    public static void main(String[] arguments) throws IOException {
        var requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            Map<String, Object> request = object(Json.parse(line), "a request");
            if ("close".equals(request.get("request"))) {
                return;
            }
            var answer = new LinkedHashMap<String, Object>();
            answer.put("id", request.get("id"));
            try {
                answer.put("ok", answer(request));
            } catch (Refusal refusal) {
                answer.put("refused", refusal.toJson());
            }
            answers.println(Json.write(answer));
        }
    }

    private static Object answer(Map<String, Object> request) throws IOException {
        return switch (String.valueOf(request.get("request"))) {
            case "describe" -> description();
            case "snapshot" -> snapshot(request);
            default -> throw new Refusal("unsupported", "this program reads snapshots only");
        };
    }

    private static Map<String, Object> description() {
        return Map.of(
                "name", "snapshot-reader",
                "engine_version", "1",
                "adapter_version", "1",
                "claims", Map.of(
                        "reader_version", 1L,
                        "writer_version", 0L,
                        "reader_features", List.of(),
                        "writer_features", List.of(),
                        "operations", List.of("snapshot"),
                        "capabilities", List.of("snapshot.version")));
    }

    /** Replays the log up to the version that is asked for, or to its end. */
    private static Map<String, Object> snapshot(Map<String, Object> request) throws IOException {
        if (request.get("timestamp") != null) {
            throw new Refusal("unsupported", "this program does not travel by timestamp");
        }
        Path log = Path.of((String) request.get("table"), "_delta_log");
        List<Path> files = files(log);
        TreeMap<Long, Path> commits = commits(files);
        if (commits.isEmpty()) {
            throw new Refusal("not_found", "the log has no commits: " + log);
        }
        if (!commits.containsKey(0L) && files.stream().anyMatch(SnapshotReader::isCheckpoint)) {
            throw new Refusal("unsupported", "the log begins with a checkpoint, which is Parquet");
        }
        Object asked = request.get("version");
        long last = asked == null ? commits.lastKey() : (Long) asked;
        if (!commits.containsKey(last)) {
            throw new Refusal("not_found", "the log has no version " + last);
        }
        var newest = new HashMap<String, Map<String, Object>>();
        for (long version = 0; version <= last; version++) {
            if (!commits.containsKey(version)) {
                throw new Refusal("invalid_table", "the log lacks version " + version);
            }
            for (Map<String, Object> line : actions(commits.get(version))) {
                for (var action : line.entrySet()) {
                    newest.put(action.getKey(), checked(action.getKey(), action.getValue()));
                }
            }
        }
        Map<String, Object> protocol = required(newest, "protocol");
        long reader = (Long) protocol.get("minReaderVersion");
        if (reader != 1) {
            String kind = reader < 1 ? "invalid_table" : "unsupported";
            throw new Refusal(kind, "reader version " + reader);
        }
        Map<String, Object> metadata = required(newest, "metaData");
        checkMetadata(metadata);
        return Map.of("version", last, "protocol", protocol, "metadata", metadata);
    }

    private static List<Path> files(Path log) throws IOException {
        if (!Files.isDirectory(log)) {
            throw new Refusal("not_found", "there is no directory " + log);
        }
        try (Stream<Path> listed = Files.list(log)) {
            return listed.filter(Files::isRegularFile).toList();
        }
    }

    private static TreeMap<Long, Path> commits(List<Path> files) {
        var commits = new TreeMap<Long, Path>();
        for (Path file : files) {
            var name = COMMIT.matcher(file.getFileName().toString());
            if (name.matches()) {
                commits.put(Long.parseLong(name.group(1)), file);
            }
        }
        return commits;
    }

    private static boolean isCheckpoint(Path file) {
        return CHECKPOINT.matcher(file.getFileName().toString()).matches();
    }

    private static List<Map<String, Object>> actions(Path commit) throws IOException {
        String text;
        try {
            ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(commit));
            text = StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
        } catch (CharacterCodingException error) {
            throw new Refusal("invalid_table", commit + " is not UTF-8");
        }
        var actions = new ArrayList<Map<String, Object>>();
        for (String line : text.split("\r?\n")) {
            if (!line.isBlank()) {
                actions.add(object(Json.parse(line), "a line of " + commit));
            }
        }
        return actions;
    }

    private static Map<String, Object> checked(String name, Object action) {
        return switch (name) {
            case "protocol" -> {
                Map<String, Object> protocol = object(action, name);
                member(protocol, "minReaderVersion", Long.class);
                member(protocol, "minWriterVersion", Long.class);
                yield protocol;
            }
            case "add", "remove" -> {
                member(object(action, name), "path", String.class);
                yield Map.of();
            }
            case "metaData" -> object(action, name);
            default -> Map.of();
        };
    }

    private static void checkMetadata(Map<String, Object> metadata) {
        member(metadata, "id", String.class);
        Map<String, Object> format = object(metadata.get("format"), "format");
        if (!"parquet".equals(format.get("provider"))) {
            throw new Refusal("unsupported", "format " + format.get("provider"));
        }
        Map<String, Object> schema =
                object(Json.parse(member(metadata, "schemaString", String.class)), "schemaString");
        var names = new ArrayList<Object>();
        var folded = new HashSet<String>();
        for (Object field : member(schema, "fields", List.class)) {
            String name = member(object(field, "a field"), "name", String.class);
            names.add(name);
            if (!folded.add(name.toLowerCase(Locale.ROOT))) {
                throw new Refusal("invalid_table", "two columns are named " + name);
            }
        }
        for (Object column : member(metadata, "partitionColumns", List.class)) {
            if (!names.contains(column)) {
                throw new Refusal("invalid_table", "partition column " + column + " is no column");
            }
        }
    }

    private static Map<String, Object> required(
            Map<String, Map<String, Object>> newest, String name) {
        if (newest.get(name) == null) {
            throw new Refusal("invalid_table", "the log has no " + name + " action");
        }
        return newest.get(name);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> object(Object value, String place) {
        if (value instanceof Map<?, ?> map) {
            return (Map<String, Object>) map;
        }
        throw new Refusal("invalid_table", place + " is not a JSON object");
    }

    private static <T> T member(Map<String, Object> object, String name, Class<T> type) {
        if (type.isInstance(object.get(name))) {
            return type.cast(object.get(name));
        }
        throw new Refusal("invalid_table", name + " is " + Json.write(object.get(name)));
    }

    /** A controlled "no", with the kind of docs/formats.md; everything is found while loading. */
    private static final class Refusal extends RuntimeException {
        private final String kind;

        Refusal(String kind, String message) {
            super(message);
            this.kind = kind;
        }

        Map<String, Object> toJson() {
            return Map.of("kind", kind, "stage", "load", "message", getMessage());
        }
    }

    /** JSON with 64-bit integers: objects as maps, arrays as lists, integers as Long. */
    private static final class Json {
        private static final Pattern NUMBER =
                Pattern.compile("-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?");
        private static final int DEEPEST = 500;
        private final String text;
        private int at;
        private int depth;

        private Json(String text) {
            this.text = text;
        }

        static Object parse(String text) {
            var parser = new Json(text);
            Object value = parser.value();
            parser.blanks();
            if (parser.at < text.length()) {
                throw parser.malformed();
            }
            return value;
        }

        private Refusal malformed() {
            return new Refusal("invalid_table", "malformed JSON at character " + at);
        }

        private void blanks() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
        }

        private boolean take(String word) {
            blanks();
            boolean found = text.startsWith(word, at);
            at += found ? word.length() : 0;
            return found;
        }

        private void expect(String word) {
            if (!take(word)) {
                throw malformed();
            }
        }

        private Object value() {
            if (++depth > DEEPEST) {
                throw malformed();
            }
            Object value;
            if (take("{")) {
                value = members();
            } else if (take("[")) {
                value = elements();
            } else if (take("\"")) {
                value = string();
            } else if (take("true")) {
                value = true;
            } else if (take("false")) {
                value = false;
            } else if (take("null")) {
                value = null;
            } else {
                value = number();
            }
            depth--;
            return value;
        }

        private Map<String, Object> members() {
            var members = new LinkedHashMap<String, Object>();
            if (take("}")) {
                return members;
            }
            do {
                expect("\"");
                String name = string();
                expect(":");
                members.put(name, value());
            } while (take(","));
            expect("}");
            return members;
        }

        private List<Object> elements() {
            var elements = new ArrayList<Object>();
            if (take("]")) {
                return elements;
            }
            do {
                elements.add(value());
            } while (take(","));
            expect("]");
            return elements;
        }

        private Object number() {
            var number = NUMBER.matcher(text).region(at, text.length());
            if (!number.lookingAt()) {
                throw malformed();
            }
            at = number.end();
            try {
                return number.group(2) == null && number.group(3) == null
                        ? (Object) Long.valueOf(number.group())
                        : Double.valueOf(number.group());
            } catch (NumberFormatException beyondLong) {
                throw malformed();
            }
        }

        private String string() {
            var found = new StringBuilder();
            while (at < text.length()) {
                char next = text.charAt(at++);
                if (next == '"') {
                    return found.toString();
                }
                if (next < ' ') {
                    break;
                }
                found.append(next == '\\' ? escaped() : next);
            }
            throw malformed();
        }

        private char escaped() {
            int kind = at < text.length() ? "\"\\/bfnrtu".indexOf(text.charAt(at++)) : -1;
            if (kind < 0 || kind == 8 && at + 4 > text.length()) {
                throw malformed();
            }
            if (kind < 8) {
                return "\"\\/\b\f\n\r\t".charAt(kind);
            }
            try {
                char unit = (char) Integer.parseInt(text.substring(at, at + 4), 16);
                at += 4;
                return unit;
            } catch (NumberFormatException notHexadecimal) {
                throw malformed();
            }
        }

        static String write(Object value) {
            var text = new StringBuilder();
            write(value, text);
            return text.toString();
        }

        private static void write(Object value, StringBuilder text) {
            if (value instanceof Map<?, ?> map) {
                text.append('{');
                String separator = "";
                for (var member : map.entrySet()) {
                    text.append(separator);
                    write(member.getKey(), text);
                    text.append(": ");
                    write(member.getValue(), text);
                    separator = ", ";
                }
                text.append('}');
            } else if (value instanceof List<?> list) {
                text.append('[');
                String separator = "";
                for (Object element : list) {
                    text.append(separator);
                    write(element, text);
                    separator = ", ";
                }
                text.append(']');
            } else if (value instanceof String string) {
                text.append('"');
                for (char unit : string.toCharArray()) {
                    // ASCII throughout, so that a line of text stays one line.
                    if (unit < ' ' || unit > '~' || unit == '"' || unit == '\\') {
                        text.append(String.format("\\u%04x", (int) unit));
                    } else {
                        text.append(unit);
                    }
                }
                text.append('"');
            } else {
                text.append(value);
            }
        }
    }
}
