import type { PodStatus } from '../types.ts'

/** Returns true for the phases that a pod never leaves. */
export const isTerminalPhase = (phase?: string): boolean => phase === 'Succeeded' || phase === 'Failed'

export const hasEnded = ({ status }: { status?: Pick<PodStatus, 'phase'> }): boolean => isTerminalPhase(status?.phase)
