/** Packages that a cluster loads only when it needs them: each costs time and memory at every start. */
import '../harness/from-sources.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { repository, startCommand } from '../harness/cluster.ts'
import { scratchFolder } from '../harness/scratch.ts'

/** Runs a command in a folder until it prints a text, and returns the packages and sources that its processes load. */
async function loadedBy(t: Test, cwd: string, args: string[], text: string): Promise<Set<string>> {
  const file = join(scratchFolder(t, 'loaded'), 'modules')
  const loader = pathToFileURL(join(repository, 'test/harness/loaded-modules.mjs')).href
  const command = startCommand(t, args, {
    cwd,
    variables: { NODE_OPTIONS: `--import=${loader}`, LOADED_MODULES: file },
  })
  await command.printed(text)
  await command.stop()
  const urls = readFileSync(file, 'utf8').split('\n')
  const packages = urls.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1])
  return new Set([...urls.map((url) => url.replace(pathToFileURL(`${repository}/`).href, '')), ...packages].map(String))
}

t.test('API server and kubelet, without a config file', async (t) => {
  const cwd = scratchFolder(t, 'no-file')
  const loaded = await loadedBy(t, cwd, ['up', '--port=0', `--state-dir=${join(cwd, 'state')}`], 'is ready')
  for (const name of ['apiserver/server.ts', 'kubelet/main.ts', 'pino']) t.ok(loaded.has(name), name)
  for (const name of ['ajv', 'js-yaml', 'undici', '@kubernetes/client-node']) t.notOk(loaded.has(name), `no ${name}`)
})

t.test('with a config file', async (t) => {
  const cwd = t.testdir({ 'kubestage.yaml': 'port: 0\n' })
  const loaded = await loadedBy(t, cwd, ['config'], 'config file kubestage.yaml')
  t.ok(loaded.has('ajv'))
})
