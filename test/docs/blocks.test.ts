/**
 * Pages are typed as a reader types them: every `sh` block, in order, in one terminal, in a folder like a fresh clone. What a page shows
 * as output (a `text` block behind it) has to be what was printed. Marks behind a block's language, which a reader does not see:
 *
 * - `terminal=NAME`: a terminal of its own, in which the block goes on; a `text` block of the same mark waits for what it prints
 * - `exit=N`: the block's last command ends with this exit code
 * - `any-order`: programs print this side by side, and others may print as well
 * - `any-numbers`: numbers between blanks differ from run to run
 * - `not-run="…"`: why the block cannot be run here
 * - `with="…"`: typed before, unseen: what the page takes for granted
 */
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { busyNetwork } from '../harness/busy-network.ts'
import { cli, repository } from '../harness/cluster.ts'
import { shows } from '../harness/doc-output.ts'
import { type Block, readPage } from '../harness/doc-page.ts'
import { openTerminal, type Terminal } from '../harness/doc-shell.ts'
import { findKubectls } from '../harness/kubectl.ts'
import { run } from '../harness/run.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

/** One after the other in one terminal. */
interface Visit {
  pages: readonly string[]
  /** Where other programs have these ports, as development servers and other clusters do. */
  busyPorts?: readonly number[]
  /** Typed at the beginning. */
  arrival?: string
  departure?: string
  /** In the folder, beside what is in a clone. */
  files?: Readonly<Record<string, () => string>>
}

/** A reader's own server: it takes requests for a while when it has been asked to end, which is long enough in faster time and in real time. */
const server = `import { createServer } from 'node:http'

const server = createServer((_, response) => response.end('hello\\n'))
server.listen(8080, process.env.KUBESTAGE_POD_IP)
process.on('SIGTERM', () => setTimeout(() => server.close(() => process.exit(0)), 3000))
`

/** Usual ports of development servers, and the API server's own. */
const busyPorts = [3000, 5000, 6443, 8000, 8080, 8090]

/** Where a page takes a cluster for granted. */
const cluster = {
  arrival: `
    pods_run() {
      for name in "$@"; do kubectl run "$name" --image=pause; done
      for name in "$@"; do kubectl wait --for=condition=Ready "pod/$name"; done
    }
    one_ends_badly() {
      kubectl run "$1" --image=busybox --command -- sleep 1000
      kubectl wait --for=condition=Ready "pod/$1"
      kubectl delete pod "$1" --grace-period=1
    }
    chart_runs() {
      kubectl create deployment "$1" --image=pause
      kubectl label deployment "$1" "app.kubernetes.io/instance=$1"
    }
    records_are_there() { until [ "$(kubectl get terminations --no-headers | wc -l)" = "$1" ]; do sleep 0.1; done; }
    kubestage up --detach
    eval "$(kubestage env)"`,
  departure: 'kubestage down',
  files: {
    'server.js': () => server,
    'app.yaml': () => readFileSync(join(repository, 'examples/rehearse/good.yaml'), 'utf8').replaceAll('5823', '8080'),
  },
}

const visits: readonly Visit[] = [
  { pages: ['README.md'], busyPorts },
  { pages: ['docs/tour.md'], busyPorts },
  { pages: ['docs/kubectl.md'], busyPorts },
  { pages: ['docs/reasons.md', 'docs/nodes.md', 'docs/metrics.md', 'docs/rehearse.md'], ...cluster },
  { pages: ['docs/load.md'], ...cluster },
  {
    pages: [
      'docs/test-suites.md',
      'docs/compose.md',
      'docs/ha.md',
      'docs/real-components.md',
      'docs/conformance.md',
      'docs/etcd.md',
      'docs/join.md',
      'docs/scale.md',
      'docs/robustness.md',
      'docs/container-runtimes.md',
    ],
    ...cluster,
  },
]
/** Each needs half a minute or so; PAGES=docs/tour.md tries one alone. */
const wanted = process.env.PAGES?.split(',')
const chosen = visits
  .map((visit) => ({ ...visit, pages: visit.pages.filter((page) => wanted?.includes(page) ?? true) }))
  .filter(({ pages }) => pages.length > 0)
const shownLanguages = new Set(['text', 'console'])
/** Dependencies are here already, or this test would not run. */
const prelude = `npm() { if [ "$1" = ci ]; then return; fi; command npm "$@"; }`

t.setTimeout(900_000)
t.jobs = chosen.length + 1 // most of the time they wait
const [tool] = findKubectls().slice(-1)
for (const visit of chosen) {
  t.test(visit.pages.join(', '), { timeout: 900_000 }, async (t) => {
    if (!tool) return skipOrFail(t, 'no kubectl on this machine')
    await follow(t, visit, tool.file)
  })
}

t.test('no page is left out, and what is not run is tried elsewhere', async (t) => {
  for (const file of globSync(['*.md', 'docs/*.md'], { cwd: repository })) {
    const blocks = readPage(file).blocks.filter(({ language }) => language === 'sh')
    if (blocks.length > 0)
      t.ok(
        visits.some(({ pages }) => pages.includes(file)),
        file,
      )
    for (const { at, marks } of blocks) {
      const [elsewhere] = /\S+\.test\.ts/.exec(marks['not-run'] ?? '') ?? []
      if (elsewhere) t.ok(existsSync(join(repository, elsewhere)), `${at}: ${elsewhere}`)
    }
  }
})

async function follow(t: Test, visit: Visit, kubectl: string): Promise<void> {
  const { pages, arrival, departure, files = {} } = visit
  const { clone, env, scratch } = freshClone(t, kubectl)
  const network = visit.busyPorts && (await busyNetwork(t, visit.busyPorts))
  if (visit.busyPorts && !network) skipOrFail(t, 'no network of its own on this machine: its ports are as they are')
  if (network) delete env.KUBESTAGE_PORT
  const open = (): Terminal => openTerminal({ cwd: clone, env, scratch, prelude, enter: network?.enter })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(clone, name), text())
  const main = open()
  const beside = new Map<string, Terminal>()
  t.teardown(async () => {
    await Promise.all([main, ...beside.values()].map((terminal) => terminal.close()))
    await run(process.execPath, [cli, 'down'], { cwd: clone })
    rmSync(scratch, { recursive: true, force: true })
  })

  const type = (at: string, text: string): Promise<void> => main.run({ at, language: 'sh', marks: {}, text })
  if (arrival) await type('arrival:1', arrival)
  let last = main
  for (const block of pages.flatMap((file) => readPage(file).blocks)) {
    const { terminal: name, 'not-run': reason } = block.marks
    if (block.language === 'sh' && reason === undefined) {
      if (name) {
        last = open()
        beside.set(name, last)
        last.begin(block)
      } else {
        last = main
        await main.run(block)
        t.pass(block.at)
      }
    } else if (shownLanguages.has(block.language)) {
      await compare(t, block, name ? beside.get(name) : last)
    }
  }
  if (departure) await type('departure:1', departure)
  for (const [name, terminal] of beside) {
    const code = await terminal.close()
    // npm says 130 of whatever was stopped by Ctrl-C.
    if (![0, 130].includes(code)) t.fail(`Ctrl-C in ${name}: exit code ${code}`, { printed: terminal.output() })
  }
  t.match(await run(process.execPath, [cli, 'status'], { cwd: clone }), { code: 1 }, 'nothing is left running')
}

/** Also what comes later than the block's own end counts: something may print in the background. */
async function compare(t: Test, { at, text, marks }: Block, terminal: Terminal | undefined): Promise<void> {
  const isShown = (): boolean =>
    shows(text, terminal?.output() ?? '', { anyOrder: 'any-order' in marks, anyNumbers: 'any-numbers' in marks })
  await until(isShown, { what: at }).catch(() => {})
  if (isShown()) t.pass(at)
  else t.fail(`${at}: shows what was not printed`, { printed: terminal?.output().split('\n') })
}

/** A folder with what a clone has after `npm ci`, and an environment in which nothing of this test is known. */
function freshClone(t: Test, kubectl: string): { clone: string; env: NodeJS.ProcessEnv; scratch: string } {
  const scratch = mkdtempSync(join(tmpdir(), 'kubestage-docs-'))
  const clone = join(scratch, 'kubestage')
  mkdirSync(clone)
  for (const name of readdirSync(repository)) {
    if (name.startsWith('.') && name !== '.npmrc') continue
    if (name === 'examples') cpSync(join(repository, name), join(clone, name), { recursive: true })
    else symlinkSync(join(repository, name), join(clone, name))
  }
  const bin = join(scratch, 'bin')
  mkdirSync(bin)
  symlinkSync(kubectl, join(bin, 'kubectl'))
  writeFileSync(join(bin, 'kubestage'), `#!/bin/sh\nexec '${process.execPath}' '${cli}' "$@"\n`, { mode: 0o755 })
  const home = join(scratch, 'home')
  mkdirSync(home)
  const { LANG, PATH, TMPDIR } = process.env
  const env = {
    HOME: home,
    LANG,
    TMPDIR,
    PATH: `${bin}:${PATH}`,
    KUBESTAGE_PORT: '0',
    KUBESTAGE_PULL_IMAGES: 'never',
    NO_COLOR: '1',
  }
  t.comment(`${clone}, kubectl ${kubectl}`)
  return { clone, env, scratch }
}
