import { join } from 'node:path'
import { writePrivately } from '../../shared/pki/files.ts'
import { writeKubeconfig } from '../../shared/pki/kubeconfig-file.ts'
import type { NodeOptions } from './node.ts'

/** Writes what the kubelet reads at its start, and returns the name of its config file. */
export async function writeKubeletFiles({ settings, state, pki, url }: NodeOptions): Promise<string> {
  const kubeconfig = join(state.kubelet, 'kubeconfig')
  await writeKubeconfig(kubeconfig, { name: 'kubestage', server: url, ca: pki.ca.cert, user: pki.kubeletClient })
  const config = {
    kubeconfig,
    rootDir: state.kubelet,
    nodeName: settings.nodeName,
    port: settings.kubeletPort,
    tlsCertFile: join(state.pki, 'kubelet.crt'),
    tlsPrivateKeyFile: join(state.pki, 'kubelet.key'),
    clientCaFile: join(state.pki, 'ca.crt'),
    image: settings.image,
    imagePath: settings.imagePath,
    featureGates: settings.featureGates,
    shutdownGracePeriod: `${settings.shutdownGracePeriod}ms`,
    logLevel: settings.logLevel,
  }
  const file = join(state.kubelet, 'config.json')
  writePrivately(file, `${JSON.stringify(config, undefined, 2)}\n`)
  return file
}
