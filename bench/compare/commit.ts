import { join } from 'node:path'
import { busy, machine } from '../documents.ts'
import { areSomeChosen, isChosen, rounds } from '../options.ts'
import { builtPackage, packageOf, titleOf } from '../package.ts'
import { bareApi } from '../processes.ts'
import { figureNames, gate, measureAgainst, startOnce, usual } from './against.ts'
import { daysBefore } from './day-before.ts'
import { verdictTable } from './verdict.ts'

const flags = { now: bareApi, then: bareApi }

/**
 * Compares these sources with a commit, or with that of a day before, and says with which, or why with none. The
 * process ends with 1 if a figure is slower.
 */
export async function compareWith(given: string): Promise<void> {
  const isGate = given === 'day-before'
  const found = isGate ? daysBefore(join(import.meta.dirname, '../..')) : { commits: [given] }
  if ('why' in found) {
    process.stdout.write(`The speed gate compared with nothing: ${found.why}.\n`)
    return
  }
  const figures = areSomeChosen ? figureNames.filter(isChosen) : figureNames
  const packages = { now: builtPackage(), then: await firstThatStarts(found.commits) }
  const options = { packages, flags, figures, pairs: rounds, ...usual }
  const verdicts = isGate ? await gate(options) : await measureAgainst(options)
  process.stdout.write(`${verdictTable(verdicts)}\n\n${machine}; ${busy()}.\n`)
  if (verdicts.some(({ word }) => word === 'slower')) process.exitCode = 1
}

/** Returns the folder of the first package whose server starts: a commit in the middle of a change may not build. */
async function firstThatStarts(commits: readonly string[]): Promise<string> {
  for (const commit of commits) {
    try {
      const folder = packageOf(commit)
      await startOnce({ packages: { now: folder, then: folder }, flags }, 'then')
      process.stdout.write(`Compares the CPU time of these sources with that of ${titleOf(commit)}.\n`)
      return folder
    } catch (error) {
      process.stdout.write(`${titleOf(commit)} cannot be started: ${(error as Error).message}\n`)
    }
  }
  throw new Error('no package could be started to compare with')
}
