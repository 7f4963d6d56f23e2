export const views = ['timeline', 'death', 'rollout'] as const
export type View = (typeof views)[number]
