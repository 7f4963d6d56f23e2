import type { Container, PodSpec } from '../types.ts'

type RestartRule = NonNullable<Container['restartPolicyRules']>[number]

/** The first rule of a container that speaks of this exit code; none: its restart policy decides. */
export function restartRuleFor({ restartPolicyRules = [] }: Container, exitCode: number): RestartRule | undefined {
  return restartPolicyRules.find(({ exitCodes }) => {
    const isListed = exitCodes?.values?.includes(exitCode) ?? false
    return exitCodes !== undefined && isListed === (exitCodes.operator === 'In')
  })
}

/** Returns true if the end of one container can restart the whole pod. */
export const mayRestartAllContainers = ({ initContainers = [], containers }: PodSpec): boolean =>
  [...initContainers, ...containers].some((container) =>
    container.restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'),
  )
