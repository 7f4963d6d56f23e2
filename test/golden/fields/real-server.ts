/** Asks a real server: the first argument is its kubeconfig, as `kubectl config view --raw -o json` prints it. */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'

export interface RealAnswer {
  status: number
  warning?: string
  text: string
}

export class RealServer implements Disposable {
  readonly #url: string
  readonly #agent: Agent
  constructor(kubeconfigFile = process.argv[2]!) {
    const kubeconfig = JSON.parse(readFileSync(kubeconfigFile, 'utf8'))
    const { cluster } = kubeconfig.clusters[0]
    const { user } = kubeconfig.users[0]
    const decoded = (text: string): Buffer => Buffer.from(text, 'base64')
    this.#url = cluster.server
    this.#agent = new Agent({
      keepAlive: true,
      ca: decoded(cluster['certificate-authority-data']),
      cert: decoded(user['client-certificate-data']),
      key: decoded(user['client-key-data']),
    })
  }

  send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<RealAnswer> {
    const sent = body === undefined ? '' : JSON.stringify(body)
    const all = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent), ...headers }
    return new Promise((resolve, reject) => {
      const asked = request(new URL(path, this.#url), { agent: this.#agent, method, headers: all }, (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        const { warning } = response.headers as { warning?: string }
        response.on('end', () => resolve({ status: response.statusCode ?? 0, ...(warning && { warning }), text }))
      })
      asked.on('error', reject).end(sent)
    })
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}
