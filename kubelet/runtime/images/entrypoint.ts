import { basename } from 'node:path'
import type { ResolvedImage } from '../container-runtime.ts'

/** Programs that run the file that their first argument names, unless it is a flag. */
export const interpreters =
  /^(?:(?:ba|da|z|k)?sh|ash|python[\d.]*|node|nodejs|perl[\d.]*|ruby[\d.]*|php[\d.]*|Rscript|lua[\d.]*|tclsh)$/

/**
 * What of an image's words a container's own `args` leave: the program; of an interpreter, or of `java`, also its
 * options and what it runs, which is the first word that is no option (`node server.js`, `java -jar app.jar`, `python3
 * -m http.server`). The others are the default arguments.
 */
export function entrypointOf([program = '', ...words]: readonly string[]): Pick<ResolvedImage, 'entrypoint' | 'cmd'> {
  const name = basename(program)
  const script = interpreters.test(name) || name === 'java' ? words.findIndex((word) => !word.startsWith('-')) : -1
  return { entrypoint: [program, ...words.slice(0, script + 1)], cmd: words.slice(script + 1) }
}

/**
 * What runs: a container's `command` takes the place of all that its image says, its `args` of the default arguments.
 */
export function wordsToRun(
  { entrypoint, cmd }: Pick<ResolvedImage, 'entrypoint' | 'cmd'>,
  { command = [], args = [] }: { command?: readonly string[]; args?: readonly string[] },
): string[] {
  if (command.length > 0) return [...command, ...args]
  return [...entrypoint, ...(args.length > 0 ? args : cmd)]
}
