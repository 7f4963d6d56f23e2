import type { ProcessRights, SeccompChoice } from '../../container-runtime.ts'
import { filterOf } from './filter.ts'
import { defaultProfile, readProfile } from './profile.ts'

/** Returns the filter of a container. Throws an Error that says what is wrong with the profile. */
export const chosenFilter = ({ text }: SeccompChoice, rights: ProcessRights | undefined): Buffer =>
  filterOf(text === undefined ? defaultProfile(rights?.capabilities ?? []) : readProfile(text))

/** Says why a profile cannot be used, in a container runtime's words. */
export function whyNoFilter(choice: SeccompChoice | undefined): string | undefined {
  if (choice?.text === undefined) return undefined
  try {
    chosenFilter(choice, undefined)
    return undefined
  } catch (error) {
    return `failed to load seccomp profile "${choice.name}": ${(error as Error).message}`
  }
}
