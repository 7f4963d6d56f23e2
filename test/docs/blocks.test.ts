/**
 * Pages are typed as a reader types them: every `sh` block, in order, in one terminal, in a folder like a fresh clone. What a page shows
 * as output (a `text` block behind it) has to be what was printed. Marks behind a block's language, which a reader does not see:
 *
 * - `terminal=NAME`: a terminal of its own, in which the block goes on; a `text` block of the same mark waits for what it prints
 * - `exit=N`: the block's last command ends with this exit code
 * - `any-order`: programs print this side by side, and others may print as well
 * - `not-run="…"`: why the block cannot be run here
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { cli, repository } from '../harness/cluster.ts'
import { shows } from '../harness/doc-output.ts'
import { type Block, readPage } from '../harness/doc-page.ts'
import { openTerminal, type Terminal } from '../harness/doc-shell.ts'
import { findKubectls } from '../harness/kubectl.ts'
import { run } from '../harness/run.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

/** Each needs half a minute or so; PAGES=docs/tour.md tries one alone. */
const pages = process.env.PAGES?.split(',') ?? ['README.md', 'docs/tour.md', 'docs/kubectl.md']
const shownLanguages = new Set(['text', 'console'])
/** Dependencies are here already, or this test would not run. */
const prelude = `npm() { if [ "$1" = ci ]; then return; fi; command npm "$@"; }`

t.setTimeout(900_000)
t.jobs = pages.length // most of the time they wait
const [tool] = findKubectls().slice(-1)
for (const page of pages) {
  t.test(page, { timeout: 900_000 }, async (t) => {
    if (!tool) return skipOrFail(t, 'no kubectl on this machine')
    await follow(t, page, tool.file)
  })
}

async function follow(t: Test, file: string, kubectl: string): Promise<void> {
  const { clone, env, scratch } = freshClone(t, kubectl)
  const main = openTerminal({ cwd: clone, env, scratch, prelude })
  const beside = new Map<string, Terminal>()
  t.teardown(async () => {
    await Promise.all([main, ...beside.values()].map((terminal) => terminal.close()))
    await run(process.execPath, [cli, 'down'], { cwd: clone })
    rmSync(scratch, { recursive: true, force: true })
  })

  let last = main
  for (const block of readPage(file).blocks) {
    const { terminal: name, 'not-run': reason } = block.marks
    if (block.language === 'sh' && reason === undefined) {
      if (name) {
        last = openTerminal({ cwd: clone, env, scratch, prelude })
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
  for (const [name, terminal] of beside) {
    const code = await terminal.close()
    // npm says 130 of whatever was stopped by Ctrl-C.
    if (![0, 130].includes(code)) t.fail(`Ctrl-C in ${name}: exit code ${code}`, { printed: terminal.output() })
  }
  t.match(await run(process.execPath, [cli, 'status'], { cwd: clone }), { code: 1 }, 'nothing is left running')
}

/** Also what comes later than the block's own end counts: something may print in the background. */
async function compare(t: Test, { at, text, marks }: Block, terminal: Terminal | undefined): Promise<void> {
  const isShown = (): boolean => shows(text, terminal?.output() ?? '', { anyOrder: 'any-order' in marks })
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
  const { HOME, LANG, PATH, TMPDIR } = process.env
  const env = { HOME, LANG, TMPDIR, PATH: `${bin}:${PATH}`, KUBESTAGE_PORT: '0', NO_COLOR: '1' }
  t.comment(`${clone}, kubectl ${kubectl}`)
  return { clone, env, scratch }
}
