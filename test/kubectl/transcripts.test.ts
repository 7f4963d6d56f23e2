/**
 * What kubectl prints: the files beside this one, each a session in a namespace of its own. `--rewrite` writes them anew.
 * A line that begins with `$` is run by bash; what follows is all it says, with times, ids and the like put out of sight.
 */
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import t from 'tap'
import { resources } from '../../apiserver/resources/index.ts'
import { writeKubeconfig } from '../../shared/pki/kubeconfig-file.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { findKubectls, missingBuilt } from '../harness/kubectl.ts'
import { run } from '../harness/run.ts'
import { skipOrFail } from '../harness/skip.ts'
import { normalised, sessionOf } from './transcript.ts'

/** The server's own version: others print differently. */
const recordedWith = '1.36'
/** Sessions with a server whose control loops run; each waits for them itself. */
const withLoops = new Set(['rollout'])
const isRewriting = process.argv.includes('--rewrite')
// Two hundred programs are started.
t.setTimeout(900_000)
const kubectl = findKubectls().find(({ version }) => version === recordedWith)

if (!kubectl) skipOrFail(t, missingBuilt(recordedWith))
else {
  // No control loop: what is printed must not depend on how far one of them is.
  const alone = await startTestApiServer(t)
  const plane = await startTestControlPlane(t)
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-transcripts-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  symlinkSync(kubectl.file, join(folder, 'kubectl'))
  const kept = resources.filter(({ verbs }) => !verbs || (verbs.includes('create') && verbs.includes('get')))
  const examples = listOf(kept.filter(({ conversion }) => !conversion))
  writeFileSync(join(folder, 'examples.json'), examples.replaceAll('"default"', '"describe"'))
  const kinds = resources.map(({ plural, group, version }) => `${plural} ${group && `${group}/`}${version}\n`)
  writeFileSync(join(folder, 'kinds.txt'), kinds.sort().join(''))

  for (const file of globSync('*.txt', { cwd: import.meta.dirname }).sort()) {
    const path = join(import.meta.dirname, file)
    const namespace = basename(file, '.txt')
    const { port, tls } = withLoops.has(namespace) ? plane : alone
    const env = {
      PATH: `${folder}${delimiter}${process.env.PATH}`,
      KUBECONFIG: join(folder, `${namespace}.kubeconfig`),
      HOME: folder,
      EXAMPLES: join(folder, 'examples.json'),
      KINDS: join(folder, 'kinds.txt'),
      TZ: 'UTC',
    }
    const access = { server: `https://127.0.0.1:${port}`, ca: tls.ca, user: tls }
    await writeKubeconfig(env.KUBECONFIG, { name: 'kubestage', ...access })
    const bash = async (command: string): Promise<string> => {
      const ran = await run('bash', ['-c', command], { cwd: import.meta.dirname, env, timeoutMs: 180_000 })
      return `${ran?.output ?? ''}${ran?.code ? `[exit ${ran.code}]\n` : ''}`
    }
    await t.test(namespace, async (t) => {
      // The cluster is shared; a session is in a namespace of its own.
      await bash(
        `kubectl create namespace ${namespace} && kubectl config set-context --current --namespace=${namespace} && kubectl create serviceaccount default`,
      )
      let written = ''
      for (const { comment, command, output } of sessionOf(readFileSync(path, 'utf8'))) {
        const said = normalised(await bash(command))
        if (!isRewriting) t.equal(said, output, command)
        written += `${comment}$ ${command}\n${said}\n`
      }
      if (isRewriting) writeFileSync(path, written)
      t.ok(written)
    })
  }
}

function listOf(kinds: typeof resources): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: kinds.map(({ example }) => example) })
}
