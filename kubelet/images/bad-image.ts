/** Says why an archive, a folder or a registry's answer is not an image that can be stored. */
export class BadImage extends Error {}

/** Names a file of an image within a message: as it is written, but on one line, and not endless. */
export const shown = (name: string): string => JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name)
