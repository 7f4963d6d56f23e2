import type { PodStatus } from './types.ts'

/** The phases that no pod leaves. */
export const isTerminalPhase = (phase?: string): boolean => phase === 'Succeeded' || phase === 'Failed'

export const hasEnded = ({ status }: { status?: Pick<PodStatus, 'phase'> }): boolean => isTerminalPhase(status?.phase)
