import { join } from 'node:path'
import { bareApi } from '../cluster.ts'
import { busy, machine } from '../documents.ts'
import { areSomeChosen, isChosen, rounds } from '../options.ts'
import { builtPackage, packageOf, titleOf } from '../package.ts'
import { figureNames, gate, measureAgainst, usual } from './against.ts'
import { dayBefore } from './day-before.ts'
import { verdictTable } from './verdict.ts'

/**
 * Compares these sources with a commit, or with that of a day before, and says with which, or why with none. The
 * process ends with 1 if a figure is slower.
 */
export async function compareWith(given: string): Promise<void> {
  const isGate = given === 'day-before'
  const found = isGate ? dayBefore(join(import.meta.dirname, '../..')) : { commit: given }
  if ('why' in found) {
    process.stdout.write(`The speed gate compared with nothing: ${found.why}.\n`)
    return
  }
  process.stdout.write(`Compares the CPU time of these sources with that of ${titleOf(found.commit)}.\n`)
  const packages = { now: builtPackage(), then: packageOf(found.commit) }
  const figures = areSomeChosen ? figureNames.filter(isChosen) : figureNames
  const options = { packages, flags: [...bareApi], figures, pairs: rounds, ...usual }
  const verdicts = isGate ? await gate(options) : await measureAgainst(options)
  process.stdout.write(`${verdictTable(verdicts)}\n\n${machine}; ${busy()}.\n`)
  if (verdicts.some(({ word }) => word === 'slower')) process.exitCode = 1
}
