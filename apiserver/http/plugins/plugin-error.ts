import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '../../../shared/config/option.ts'

/** A plugin with which the server cannot start: `NAME WHAT`, and where in its code. */
export function pluginError(name: string, what: string, cause?: unknown, file?: string): ConfigError {
  const place = cause === undefined ? undefined : placeOf(cause, file)
  const reason = cause === undefined ? '' : `: ${messageOf(cause)}`
  const error = new ConfigError(`${name} ${what}${reason}${place ? ` (${place})` : ''}`)
  error.cause = cause
  return error
}

function messageOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message || cause.name : String(cause)
  return text.replace(/\s*\n\s*/g, ' ').trim()
}

/** `my-plugin.mjs:7`: the plugin's own line where the stack has one, else the first line that is not Node's. */
function placeOf(cause: unknown, file: string | undefined): string | undefined {
  const stack = cause instanceof Error ? (cause.stack ?? '') : ''
  const places = [...stack.matchAll(/(?:^|\(|at |\s)((?:file:\/\/)?\/[^\s()]+?):(\d+)(?::\d+)?\)?$/gm)].map(
    ([, path = '', line]) => ({ path: path.startsWith('file:') ? pathOf(path) : path, line }),
  )
  const place = places.find(({ path }) => path === file) ?? places.find(({ path }) => !path.includes('/node_modules/'))
  if (!place) return undefined
  const fromHere = relative(process.cwd(), place.path)
  return `${fromHere.startsWith('..') ? place.path : fromHere}:${place.line}`
}

/** Returns the path of a module's URL, which may have a query. */
function pathOf(url: string): string {
  try {
    return fileURLToPath(new URL(url))
  } catch {
    return url
  }
}
