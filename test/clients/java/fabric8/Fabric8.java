import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.File;

/** fabric8's client logs in with a kubeconfig of Kubestage and lists what is there. */
public class Fabric8 {
  public static void main(String[] arguments) throws Exception {
    var config = Config.fromKubeconfig(new File(arguments[0]));
    try (var client = new KubernetesClientBuilder().withConfig(config).build()) {
      System.out.println("server " + client.getKubernetesVersion().getGitVersion());
      var pods = client.pods().inAnyNamespace().list().getItems();
      System.out.println("pods " + pods.size());
      for (var namespace : client.namespaces().list().getItems())
        System.out.println("namespace " + namespace.getMetadata().getName());
    }
  }
}
