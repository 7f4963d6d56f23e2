/** Where two arrays or maps meet: what one of them alone does not show. Each is made of so many entries. */
import { alternatives, choice, customSituations } from './custom-resources.ts'
import { definitionSituations } from './definitions.ts'
import { fieldSituations } from './fields.ts'
import { otherSituations } from './objects.ts'
import { podSituations } from './pods.ts'
import type { Situation } from './writing.ts'

export { growthDefinition } from './custom-resources.ts'

export const situations: Situation[] = [
  ...podSituations,
  ...fieldSituations,
  ...otherSituations,
  ...customSituations,
  choice,
  alternatives,
  ...definitionSituations,
]
