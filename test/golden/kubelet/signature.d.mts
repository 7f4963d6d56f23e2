export function signature(podEvent: object): string
