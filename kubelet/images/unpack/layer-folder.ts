import { join } from 'node:path'

/** A layer's folder has its files in `fs`, and what else it says in `layer.json`. */
export const filesOf = (folder: string): string => join(folder, 'fs')
export const factsFile = (folder: string): string => join(folder, 'layer.json')
