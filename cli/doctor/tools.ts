import { realpathSync } from 'node:fs'
import { tryProgram } from '../../cluster/supervisor/try-program.ts'
import type { Finding } from './finding.ts'

/** Older ones speak of kinds that are gone. */
const oldestMinor = 27

/** Each on PATH but our own, which stands before another. */
const everyKubectl = `IFS=:
for folder in $PATH; do
  case \${folder%/} in */kubestage-kubectl) continue ;; esac
  [ -x "$folder/kubectl" ] && [ -f "$folder/kubectl" ] && echo "$folder/kubectl"
done`

/** Reports every kubectl on PATH. Only the version of the first one is judged; the others explain surprises. */
export async function kubectl(): Promise<Finding> {
  const name = 'kubectl'
  const all = (await tryProgram('/bin/sh', ['-c', `${everyKubectl}; true`]))?.split('\n').filter(Boolean) ?? []
  const files = all.filter(
    (file, index) => all.findIndex((other) => realpathSync(other) === realpathSync(file)) === index,
  )
  const versions = await Promise.all(files.map(versionOf))
  const found = files.map((file, index) => `${versions[index] ?? 'of no known version'} (${file})`).join(', ')
  const remedy = `install kubectl 1.${oldestMinor} or newer, or use any other client of the Kubernetes API`
  if (files.length === 0) return { name, state: 'degraded', found: 'not found on PATH', remedy }
  const minor = Number(/^v1\.(\d+)/.exec(versions[0] ?? '')?.[1])
  return minor >= oldestMinor ? { name, state: 'good', found } : { name, state: 'degraded', found, remedy }
}

async function versionOf(file: string): Promise<string | undefined> {
  const answer = await tryProgram(file, ['version', '--client', '--output=json'])
  return /"gitVersion":\s*"([^"]+)"/.exec(answer ?? '')?.[1]
}

/** Reports docker and docker-compose. Only `docker-compose up` and images need them. */
export async function docker(): Promise<Finding> {
  const name = 'docker'
  const [client, daemon, plugin, standalone] = await Promise.all([
    tryProgram('docker', ['--version']),
    tryProgram('docker', ['version', '--format', '{{.Server.Version}}']),
    tryProgram('docker', ['compose', 'version', '--short']),
    tryProgram('docker-compose', ['version', '--short']),
  ])
  const compose = (plugin ?? standalone)?.trim()
  const remedy = 'only docker-compose up needs it; pods need none'
  if (client === undefined)
    return { name, state: 'degraded', found: 'not found on PATH', remedy: `install docker: ${remedy}` }
  if (!daemon)
    return {
      name,
      state: 'degraded',
      found: 'its daemon does not answer',
      remedy: `start it, or join its group: ${remedy}`,
    }
  if (compose) return { name, state: 'good', found: `${daemon.trim()}, compose ${compose}` }
  return {
    name,
    state: 'degraded',
    found: `${daemon.trim()}, without compose`,
    remedy: `install docker-compose: ${remedy}`,
  }
}
