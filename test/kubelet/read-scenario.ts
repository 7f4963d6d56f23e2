import { load } from 'js-yaml'
import type { Behaviour, SimulatedExec } from '../../kubelet/runtime/simulated.ts'
import type { Deed, Scenario } from './transcript.ts'

/** Reads the upper part of a transcript. A key that would be without effect is an error that names the known ones. */
export function readScenario(text: string): Scenario {
  const scenario = load(text) as Scenario
  check('the transcript', scenario, scenarioKeys)
  check('pod', scenario.pod, podKeys)
  for (const deed of scenario.user ?? []) checkDeed('user', deed)
  for (const behaviour of Object.values(scenario.programs ?? {}).flat()) check('programs', behaviour, programKeys)
  for (const run of Object.values(scenario.commands ?? {}).flat()) check('commands', run, commandKeys)
  return scenario
}

function checkDeed(where: string, deed: object & Pick<Deed, 'meanwhile'>): void {
  check(where, deed, deedKeys)
  if (deed.meanwhile) checkDeed('meanwhile', deed.meanwhile)
}

function check(where: string, value: object, known: object): void {
  const unknown = Object.keys(value).filter((key) => !Object.hasOwn(known, key))
  if (unknown.length > 0)
    throw new Error(`${where} has the unknown key ${unknown.join(', ')}; known are ${Object.keys(known).join(', ')}`)
}

type Keys<Type> = Record<keyof Required<Type>, true>
const scenarioKeys: Keys<Scenario> = {
  pod: true,
  programs: true,
  commands: true,
  images: true,
  user: true,
  untilSeconds: true,
  kubelet: true,
  eviction: true,
}
const podKeys: Keys<Scenario['pod']> = { metadata: true, spec: true }
const deedKeys: Keys<Deed> = {
  at: true,
  delete: true,
  create: true,
  patch: true,
  patchStatus: true,
  restartKubelet: true,
  meanwhile: true,
  node: true,
  pressure: true,
}
const programKeys: Keys<Behaviour> = { exitAfterMs: true, exitCode: true, onTerm: true, startError: true, usage: true }
const commandKeys: Keys<SimulatedExec> = { durationMs: true, exitCode: true, output: true }
