import { KubeConfig } from '@kubernetes/client-node'
import { GenericContainer, Wait } from 'testcontainers'

const port = 6443
const kubeconfigFile = '/var/lib/kubestage/kubeconfig'

/** Starts a whole Kubestage in one container; `flags` are those of `kubestage up`. Resolves when its node is ready. */
export async function startKubestage(...flags) {
  const container = await new GenericContainer(process.env.KUBESTAGE_IMAGE ?? 'kubestage')
    .withCommand(['up', ...flags])
    .withExposedPorts(port)
    .withWaitStrategy(Wait.forLogMessage(/is ready/))
    .start()
  const { output } = await container.exec(['cat', kubeconfigFile])
  // Out here it is at another address, which its certificate does not know.
  const server = `https://${container.getHost()}:${container.getMappedPort(port)}`
  const kubeconfig = output.replace(/server: .*/, `server: ${server}\n      tls-server-name: localhost`)
  const config = new KubeConfig()
  config.loadFromString(kubeconfig)
  return { config, kubeconfig, stop: () => container.stop({ timeout: 10_000 }) }
}
