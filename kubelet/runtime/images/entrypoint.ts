import { basename } from 'node:path'
import type { ResolvedImage } from '../container-runtime.ts'

/** Programs that run the file that their first argument names, unless it is a flag. */
export const interpreters =
  /^(?:(?:ba|da|z|k)?sh|ash|python[\d.]*|node|nodejs|perl[\d.]*|ruby[\d.]*|php[\d.]*|Rscript|lua[\d.]*|tclsh)$/

/**
 * Splits an image's command into the part that a container's `args` keep and the default arguments, which they replace.
 * The first part is the program; for an interpreter or `java` also its options and the first word that is not an option
 * (`node server.js`, `java -jar app.jar`, `python3 -m http.server`).
 */
export function entrypointOf([program = '', ...words]: readonly string[]): Pick<ResolvedImage, 'entrypoint' | 'cmd'> {
  const name = basename(program)
  const script = interpreters.test(name) || name === 'java' ? words.findIndex((word) => !word.startsWith('-')) : -1
  return { entrypoint: [program, ...words.slice(0, script + 1)], cmd: words.slice(script + 1) }
}

/**
 * Returns the command that runs. A container's `command` replaces the image's whole command; its `args` replace only
 * the default arguments.
 */
export function wordsToRun(
  { entrypoint, cmd }: Pick<ResolvedImage, 'entrypoint' | 'cmd'>,
  { command = [], args = [] }: { command?: readonly string[]; args?: readonly string[] },
): string[] {
  if (command.length > 0) return [...command, ...args]
  return [...entrypoint, ...(args.length > 0 ? args : cmd)]
}
