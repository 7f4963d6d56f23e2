import type { Pod } from './types.ts'

/** The phases that no pod leaves. */
export const isTerminalPhase = (phase?: string): boolean => phase === 'Succeeded' || phase === 'Failed'

export const hasEnded = ({ status }: Pick<Pod, 'status'>): boolean => isTerminalPhase(status?.phase)
