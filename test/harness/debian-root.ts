import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** What packages make when they are installed, and what shells and programs expect of a system. */
const made = ['/bin', '/sbin', '/lib', '/lib64', '/etc/passwd', '/etc/group', '/etc/alternatives', '/etc/ssl/certs']

/**
 * Fills a folder with a small Debian: the files of this machine's essential packages, of those that are named, and of all that these depend on.
 * Nothing is downloaded.
 */
export function copyDebian(folder: string, named: readonly string[]): void {
  const files = output('dpkg-query', ['--listfiles', ...closure(named)])
    .split('\n')
    .filter(existsSync)
  const inside = execFileSync('find', [...made.filter(existsSync), '-print0'], { encoding: 'utf8' }).split('\0')
  const paths = new Set([...files, ...inside].filter(Boolean).map(place))
  const packed = spawnSync('tar', ['-C', '/', '-c', '--no-recursion', '--null', '-T', '-'], {
    input: [...paths].join('\0'),
    maxBuffer: 1 << 30,
  })
  if (packed.status !== 0) throw new Error(`tar: ${packed.stderr}`)
  execFileSync('tar', ['-x', '-C', folder], { input: packed.stdout })
}

/** Those of the named packages that this machine does not have. */
export function missingPackages(named: readonly string[]): string[] {
  const { stdout } = spawnSync(
    'dpkg-query',
    ['--show', '--showformat', '$' + '{db:Status-Abbrev}$' + '{Package}\n', ...named],
    {
      encoding: 'utf8',
    },
  )
  const installed = new Set(stdout.split('\n').flatMap((row) => (row.startsWith('ii ') ? [row.slice(3)] : [])))
  return named.filter((name) => !installed.has(name))
}

/** Relative to the root, and behind links such as /bin -> usr/bin. */
const place = (path: string): string => {
  const isLink = lstatSync(path).isSymbolicLink()
  return (isLink ? join(realpathSync(dirname(path)), basename(path)) : realpathSync(path)).replace(/^\/(?=.)/, '')
}

/** Names of the essential packages, the named ones, and those that they need. */
function closure(named: readonly string[]): string[] {
  const format =
    '$' +
    '{db:Status-Abbrev}\t$' +
    '{Package}\t$' +
    '{Essential}\t$' +
    '{Provides}\t$' +
    '{Pre-Depends}, $' +
    '{Depends}\n'
  const rows = output('dpkg-query', ['--show', '--showformat', format])
    .split('\n')
    .filter((row) => row.startsWith('ii'))
    .map((row) => row.split('\t') as [string, string, string, string, string])
  const byName = new Map<string, { name: string; depends: string }>()
  for (const [, name, , provides, depends] of rows)
    for (const provided of namesIn(provides)) byName.set(provided, { name, depends })
  for (const [, name, , , depends] of rows) byName.set(name, { name, depends })
  const found = new Set<string>()
  const visit = (name: string): void => {
    const one = byName.get(name)
    if (!one || found.has(one.name)) return
    found.add(one.name)
    for (const needed of namesIn(one.depends)) visit(needed)
  }
  for (const [, name, essential] of rows) if (essential === 'yes') visit(name)
  for (const name of named) visit(name)
  return [...found]
}

/** Of each alternative; without versions. */
const namesIn = (relation: string): string[] =>
  relation.split(/[,|]/).flatMap((one) => /^\s*([^\s(:]+)/.exec(one)?.slice(1) ?? [])

const output = (file: string, args: string[]): string =>
  execFileSync(file, args, { encoding: 'utf8', maxBuffer: 64 << 20 })
