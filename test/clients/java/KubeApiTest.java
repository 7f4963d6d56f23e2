import static java.net.http.HttpRequest.BodyPublishers.ofString;

import java.io.IOException;
import java.net.ConnectException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManagerFactory;

/**
 * Starts the assets as kube-api-test (fabric8) does, with its flags and its kind of certificates, and uses the server with Java's own HTTP client.
 * Arguments: the folder of the assets, an empty folder. Exit code 0 when all was as it should be.
 */
public class KubeApiTest {
  private static final char[] PASSWORD = "password".toCharArray();
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Path assets;
  private final Path folder;
  private final List<Process> processes = new ArrayList<>();

  private KubeApiTest(Path assets, Path folder) {
    this.assets = assets;
    this.folder = folder;
  }

  public static void main(String[] args) throws Exception {
    var test = new KubeApiTest(Path.of(args[0]), Path.of(args[1]));
    try {
      test.run();
    } finally {
      for (var process : test.processes) process.destroyForcibly().waitFor();
    }
    System.out.println("ok");
  }

  private void run() throws Exception {
    var server = certificate("apiserver", "CN=example.org", "-ext", "san=ip:127.0.0.1,dns:kubernetes");
    var user = certificate("client", "CN=kubeapitest, O=system:masters");

    var etcdPort = freePort();
    var etcd = "http://0.0.0.0:" + etcdPort;
    var peers = "http://localhost:" + freePort();
    start("etcd", "-data-dir", folder.resolve("data").toString(), "-wal-dir", folder.resolve("wal").toString(),
        "--listen-client-urls", etcd, "--advertise-client-urls", etcd, "--initial-cluster", "default=" + peers,
        "--initial-advertise-peer-urls", peers, "--listen-peer-urls", peers);
    var anybody = HttpClient.newHttpClient();
    await(anybody, "http://127.0.0.1:" + etcdPort + "/health", response -> response.statusCode() == 200);

    var port = freePort();
    var key = pem("apiserver.key");
    start("kube-apiserver", "--cert-dir", folder.toString(), "--secure-port", "" + port, "--etcd-servers", etcd,
        "--authorization-mode", "RBAC", "--service-account-issuer", "https://localhost",
        "--service-account-signing-key-file", key, "--service-account-signing-key-file", key,
        "--service-account-key-file", key, "--service-account-issuer", pem("apiserver.crt"),
        "--disable-admission-plugins", "ServiceAccount", "--client-ca-file", pem("client.crt"),
        "--service-cluster-ip-range", "10.0.0.0/24", "--allow-privileged");
    var url = "https://127.0.0.1:" + port;
    var stranger = httpClient(server, null);
    await(stranger, url + "/readyz", response -> response.statusCode() == 200);
    expect(403, send(stranger, HttpRequest.newBuilder(URI.create(url + "/api/v1/namespaces"))));

    var client = httpClient(server, user);
    await(client, url + "/api/v1/namespaces/default", response -> response.statusCode() == 200);
    var configMaps = url + "/api/v1/namespaces/default/configmaps";
    var json = HttpRequest.newBuilder(URI.create(configMaps)).header("Content-Type", "application/json");
    var created = expect(201, send(client, json.POST(ofString("""
        {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"language":"Java"}}"""))));
    expect(409, send(client, json));
    contains(created.body(), "\"language\":\"Java\"");
    watch(client, configMaps);
    expect(200, send(client, HttpRequest.newBuilder(URI.create(configMaps + "/a")).DELETE()));
  }

  /** Over HTTP/2, as Java's client prefers; the answer begins while the request goes on. */
  private static void watch(HttpClient client, String url) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(url + "?watch=true&resourceVersion=0&timeoutSeconds=60")).build();
    try (Stream<String> lines = client.send(request, BodyHandlers.ofLines()).body()) {
      contains(lines.findFirst().orElse(""), "\"type\":\"ADDED\"");
    }
  }

  private void start(String name, String... args) throws IOException {
    var command = Stream.concat(Stream.of(assets.resolve(name).toString()), Stream.of(args)).toList();
    processes.add(new ProcessBuilder(command).inheritIO().start());
  }

  /** Makes NAME.crt, signed by nobody else, and NAME.key. */
  private KeyStore certificate(String name, String subject, String... more) throws Exception {
    var file = folder.resolve(name + ".p12");
    var keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    var command = Stream.of(keytool, "-genkeypair", "-keyalg", "RSA", "-validity", "365", "-alias", name,
        "-dname", subject, "-keystore", file.toString(), "-storepass", new String(PASSWORD));
    var process = new ProcessBuilder(Stream.concat(command, Stream.of(more)).toList()).inheritIO().start();
    if (process.waitFor() != 0) throw new IllegalStateException("keytool failed");
    var store = KeyStore.getInstance(file.toFile(), PASSWORD);
    write(name + ".crt", "CERTIFICATE", store.getCertificate(name).getEncoded());
    write(name + ".key", "PRIVATE KEY", store.getKey(name, PASSWORD).getEncoded());
    return store;
  }

  private void write(String name, String kind, byte[] content) throws IOException {
    var text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
    Files.writeString(folder.resolve(name), "-----BEGIN %1$s-----\n%2$s\n-----END %1$s-----\n".formatted(kind, text));
  }

  private String pem(String name) {
    return folder.resolve(name).toString();
  }

  /** Believes the server's certificate and no other; `user` may be null. */
  private static HttpClient httpClient(KeyStore server, KeyStore user) throws Exception {
    var believed = KeyStore.getInstance("PKCS12");
    believed.load(null, null);
    believed.setCertificateEntry("server", server.getCertificate("apiserver"));
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(believed);
    var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(user, PASSWORD);
    var context = SSLContext.getInstance("TLS");
    context.init(user == null ? null : keys.getKeyManagers(), trust.getTrustManagers(), null);
    return HttpClient.newBuilder().sslContext(context).build();
  }

  private static void await(HttpClient client, String url, Predicate<HttpResponse<String>> good) throws Exception {
    for (var deadline = System.nanoTime() + PATIENCE.toNanos(); ; Thread.sleep(50)) {
      try {
        if (good.test(send(client, HttpRequest.newBuilder(URI.create(url))))) return;
      } catch (ConnectException | SSLException notYet) {
        if (System.nanoTime() > deadline) throw notYet;
      }
      if (System.nanoTime() > deadline) throw new IllegalStateException(url + " did not become ready");
    }
  }

  private static HttpResponse<String> send(HttpClient client, HttpRequest.Builder request) throws Exception {
    return client.send(request.build(), BodyHandlers.ofString());
  }

  private static HttpResponse<String> expect(int code, HttpResponse<String> response) {
    if (response.statusCode() == code) return response;
    throw new AssertionError(response.request() + ": " + response.statusCode() + " " + response.body());
  }

  private static void contains(String text, String part) {
    if (!text.contains(part)) throw new AssertionError(part + " is missing in " + text);
  }

  private static int freePort() throws IOException {
    try (var socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }
}
