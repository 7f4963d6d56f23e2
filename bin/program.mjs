// Runs a program of the package. V8 compiles a function when it is called for the first time; what one process has compiled, the next ones have.
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import vm from 'node:vm'

const fs = process.getBuiltinModule?.('node:fs') ?? (await import('node:fs'))

/** Returns what the program exports. What is compiled is kept for each version of its text, and each command, which runs a part of it. */
export function load(url, version, command = '') {
  const keepers = []
  const keep = () => {
    for (const keeper of keepers.splice(0)) keeper()
  }
  process.once('exit', keep)
  const part = /^[a-z-]*$/.test(command) ? command : ''
  return run(fileURLToPath(url), { suffix: `${version}-${part}`, keepers, keep })
}

function run(filename, { suffix, keepers, keep }) {
  const kept = keptFile(filename, suffix)
  const cachedData = kept && read(kept)
  const script = new vm.Script(bytesOf(filename).latin1Slice(), { filename, cachedData })
  if (kept && (!cachedData || script.cachedDataRejected)) keepers.push(keeperOf(script, kept))
  const folder = dirname(filename)
  let requireOfNode
  const require = (name) => {
    const builtIn = process.getBuiltinModule?.(name)
    if (builtIn) return builtIn
    if (name.endsWith('.cjs')) return run(join(folder, name), { suffix, keepers, keep })
    requireOfNode ??= module.createRequire(filename)
    return requireOfNode(name)
  }
  const program = { exports: {} }
  script.runInThisContext()(program.exports, require, program, filename, folder, importModule, keep)
  return program.exports
}

/** Made apart from `run`, whose functions live as long as the program, and would keep the script with its first function, 1 MB. */
const keeperOf = (script, file) => () => write(file, script.createCachedData())

const importModule = (specifier) => import(specifier)

/** In the folder where Node keeps what it compiles, one for each version of V8 with its flags. */
function keptFile(filename, suffix) {
  const folder = module.getCompileCacheDir?.()
  return folder && join(folder, `${filename.split(/[\\/]/).slice(-2).join('-')}-${suffix}`)
}

function read(file) {
  try {
    return bytesOf(file)
  } catch {
    return undefined
  }
}

/**
 * Reads a file into an array that may be resized: the kernel has its pages again when it is collected. A buffer would
 * be the C library's, which keeps as much free memory, of each thread, as twice the largest buffer that it ever freed.
 */
function bytesOf(file) {
  const fd = fs.openSync(file)
  try {
    const { size } = fs.fstatSync(fd)
    const bytes = Buffer.from(new ArrayBuffer(size, { maxByteLength: size }))
    if (fs.readSync(fd, bytes) !== size) throw new Error(`${file} was cut while it was read`)
    return bytes
  } finally {
    fs.closeSync(fd)
  }
}

/** Other processes may read and write the file at the same time. If it cannot be written, the next process compiles, too. */
function write(file, data) {
  try {
    fs.writeFileSync(`${file}.${process.pid}`, data, { mode: 0o600 })
    fs.renameSync(`${file}.${process.pid}`, file)
  } catch {}
}
