import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kubernetesVersion } from '../../shared/config/kubernetes-version.ts'
import { makeFolder } from '../../shared/files/make-folder.ts'
import { etcdVersion } from './etcd-version.ts'
import { kubeApiserverFlags } from './kube-apiserver-flags.ts'

export interface AssetOptions {
  /** Made where missing. */
  folder: string
  /** Node to run them with, and the program that knows what each of them is. */
  node: string
  program: string
}

/** Flags by which envtest and its like find out what they may pass. */
const etcdFlags = {
  'data-dir': 'taken; nothing is kept there',
  'listen-client-urls': 'where to say that all is well (default http://localhost:2379)',
  'listen-peer-urls': 'taken',
  'advertise-client-urls': 'taken',
  'unsafe-no-fsync': 'taken',
}

/** Writes the executables that envtest starts: they look like `etcd`, `kube-apiserver` and `kubectl`. */
export function writeAssets({ folder, node, program }: AssetOptions): void {
  makeFolder(folder)
  const launch = (name: string, version: string, purpose: string, flags: Record<string, string>): void =>
    writeExecutable(join(folder, name), launcher({ name, version, node, program, help: helpOf(name, purpose, flags) }))
  const apiVersion = `Kubernetes ${kubernetesVersion.gitVersion}`
  launch(
    'kube-apiserver',
    apiVersion,
    'The API server of Kubestage, with the flags of the real one.',
    kubeApiserverFlags,
  )
  launch('etcd', `etcd Version: ${etcdVersion}`, 'Answers health checks; Kubestage needs no etcd.', etcdFlags)
  writeExecutable(join(folder, 'kubectl'), kubectlLauncher)
}

/** The user's own: the first on PATH that is not this one. */
const kubectlLauncher = `#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
IFS=:
for folder in $PATH; do
  [ "$folder" = "$here" ] || [ ! -x "$folder/kubectl" ] || exec "$folder/kubectl" "$@"
done
echo 'kubestage: there is no kubectl on PATH; install one, or let the tests do without' >&2
exit 127
`

/** A shell answers --help at once, for that is asked before each start, and --version. */
const launcher = ({
  name,
  version,
  node,
  program,
  help,
}: {
  name: string
  version: string
  node: string
  program: string
  help: string
}): string => `#!/bin/sh
for word; do
  case $word in --help | -h)
    cat <<'END'
${help}
END
    exit ;;
  --version | --version=true)
    echo '${version}'
    exit ;;
  esac
done
exec ${quoted(node)} --max-semi-space-size=8 ${quoted(program)} ${name} "$@"
`

function helpOf(name: string, purpose: string, flags: Record<string, string>): string {
  const rows = Object.entries(flags).map(([flag, what]) => `      --${flag.padEnd(36)} ${what}`)
  return `${purpose}\n\nUsage:\n  ${name} [flags]\n\nFlags:\n${rows.join('\n')}`
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

function writeExecutable(file: string, text: string): void {
  writeFileSync(file, text)
  chmodSync(file, 0o755)
}
