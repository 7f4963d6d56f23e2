/** Whatever becomes of a file that a cluster keeps between starts: it is refused, or kept under another name. */
import { execFileSync } from 'node:child_process'
import { cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openStateDirectory, writingState } from '../../cluster/state-directory.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { ensureBootstrapper, ensureClusterPki, ensureControllersClient } from '../../shared/pki/cluster-pki.ts'
import { writeKubeconfig } from '../../shared/pki/kubeconfig-file.ts'

const nowMs = Date.UTC(2026, 0, 1)

/** What a start reads and writes in its state folder before anything of it runs. */
const start = (stateDir: string): Promise<string | undefined> =>
  writingState(stateDir, async () => {
    const state = openStateDirectory(stateDir)
    try {
      const place = { directory: state.pki, nowMs }
      const pki = ensureClusterPki({ ...place, host: '127.0.0.1', serviceAddress: '10.96.0.1', nodeName: 'node-1' })
      void [pki.apiServerKubeletClient, pki.kubeletClient, pki.kubeletServer]
      ensureBootstrapper(place, pki.ca)
      ensureControllersClient(place, pki.ca)
      if (!pki.serviceAccountKey.kept()) await pki.serviceAccountKey.make()
      return await writeKubeconfig(state.kubeconfig, {
        name: 'kubestage',
        server: 'https://127.0.0.1:6443',
        ca: pki.ca.cert,
        user: pki.admin,
      })
    } finally {
      state.release()
    }
  })

const damages: Record<string, (file: string, text: string) => void> = {
  'cut off': (file, text) => writeFileSync(file, text.slice(0, text.length / 2)),
  empty: (file) => writeFileSync(file, ''),
  'of something else': (file) => writeFileSync(file, '{{{ no PEM, no YAML'),
  'a list': (file) => writeFileSync(file, '- 1\n- 2\n'),
  'with entries of another form': (file) => writeFileSync(file, 'clusters: [null]\nusers: 5\n'),
  'a folder': (file) => mkdirSync(replaced(file)),
  'a pipe': (file) => void execFileSync('mkfifo', [replaced(file)]),
  'a loop of links': (file) => symlinkSync(file, replaced(file)),
  gone: (file) => rmSync(file),
}

function replaced(file: string): string {
  rmSync(file)
  return file
}

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

const bytesIn = (folder: string): string[] => filesOf(folder).map((file) => readFileSync(file, 'utf8'))

/** Without them a start makes what the CA signs, or writes a kubeconfig, as at first. */
const isDerived = (name: string): boolean => !/^pki\/(ca|sa)\./.test(name)

t.test('each file of a state folder, damaged in each way', async (t) => {
  const whole = join(t.testdir(), 'whole')
  await start(whole)
  const names = filesOf(whole).map((file) => file.slice(whole.length + 1))
  t.ok(names.length >= 17, names.join(' '))
  for (const name of names) {
    await t.test(name, async (t) => {
      for (const [damage, apply] of Object.entries(damages)) {
        const folder = join(t.testdir(), 'state')
        rmSync(folder, { recursive: true, force: true })
        cpSync(whole, folder, { recursive: true })
        const file = join(folder, name)
        apply(file, readFileSync(file, 'utf8'))
        const found = lstatSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file, 'utf8') : ''
        const before = bytesIn(folder)
        const outcome = await start(folder).catch((error: Error) => error)
        const what = `${name} ${damage}`
        if (outcome instanceof Error) {
          t.type(outcome, ConfigError, `${what}: ${outcome.stack}`)
          t.match(outcome.message, file.replace(/\.\w+$/, ''), `${what}: the message names it`)
          t.match(outcome.message, /move|remove|put back/, `${what}: and says what to do`)
          t.same(bytesIn(folder).sort(), before.sort(), `${what}: nothing is written`)
        } else {
          const isKept = found === '' || bytesIn(folder).includes(found)
          if (damage === 'gone' || damage === 'empty') t.ok(isDerived(name), `${what} is made`)
          else if (damage === 'cut off') t.match(readFileSync(file, 'utf8'), found.slice(0, 100), 'it is YAML')
          else t.ok(isKept && outcome?.endsWith('.damaged'), `${what} is kept: ${outcome}`)
        }
      }
    })
  }
})

t.test('a certificate of another CA is not replaced', async (t) => {
  const folders = ['one', 'two'].map((name) => join(t.testdir(), name))
  for (const folder of folders) await start(folder)
  const [own, other] = folders.map((folder) => join(folder, 'pki', 'ca.crt'))
  cpSync(other!, own!)
  await t.rejects(start(folders[0]!), { message: /ca\.crt is not the CA of a Kubestage cluster, .*or its key is not/ })
})

t.test('a kubeconfig that is a link stays one', async (t) => {
  const folder = join(t.testdir({ 'my-config': '' }), 'state')
  await start(folder)
  const own = join(folder, '..', 'my-config')
  rmSync(join(folder, 'kubeconfig'))
  symlinkSync(own, join(folder, 'kubeconfig'))
  await start(folder)
  t.match(readFileSync(own, 'utf8'), 'current-context: kubestage')
})
