/**
 * Reads what a source file declares: signatures and doc comments, as a reference shows them. TypeScript calls the API
 * of its parser unstable; package.json names one version.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import * as ast from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'

export interface Member {
  name: string
  /** `list(namespace?: string): Promise<Termination[]>` */
  signature: string
  comment: string
  /** The text of the tag `@default`. */
  default: string
}

export interface Declared extends Omit<Member, 'default'> {
  /** The members that are neither private nor marked as `@internal`. */
  members: Member[]
  bases: string[]
}

/** Returns what each file declares at its top. The files are parsed alone: no import is followed. */
export function declarationsIn(files: readonly string[]): Map<string, Declared[]> {
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-declarations-'))
  const api = new API({ cwd: folder })
  try {
    const config = join(folder, 'tsconfig.json')
    const compilerOptions = { noLib: true, noResolve: true, noEmit: true, types: [], allowImportingTsExtensions: true }
    writeFileSync(config, JSON.stringify({ compilerOptions, files: files.map((file) => resolve(file)) }))
    const program = api.updateSnapshot({ openProjects: [config] }).getProject(config)?.program
    return new Map(
      files.map((file) => {
        const source = program?.getSourceFile(resolve(file))
        if (!source) throw new Error(`${file} cannot be parsed`)
        return [file, source.statements.flatMap(declaredBy)]
      }),
    )
  } finally {
    api.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function declaredBy(node: ast.Statement): Declared[] {
  const { comment } = documentation(node)
  if (ast.isInterfaceDeclaration(node) || ast.isClassDeclaration(node)) {
    const name = node.name?.text ?? ''
    const bases = node.heritageClauses?.flatMap(({ types }) => types.map((type) => type.getText())) ?? []
    return [{ name, signature: '', comment, members: node.members.flatMap(memberOf), bases }]
  }
  if (ast.isTypeAliasDeclaration(node)) {
    const signature = `type ${node.name.text} = ${oneLine(node.type)}`
    return [{ name: node.name.text, signature, comment, members: [], bases: [] }]
  }
  if (ast.isFunctionDeclaration(node))
    return [{ name: node.name?.text ?? '', signature: callOf(node), comment, members: [], bases: [] }]
  if (!ast.isVariableStatement(node)) return []
  return node.declarationList.declarations.map(({ name, type, initializer }) => {
    const isFunction = initializer && ast.isArrowFunction(initializer)
    const rest = isFunction ? parametersOf(initializer) : type ? `: ${oneLine(type)}` : ''
    return { name: name.getText(), signature: `${name.getText()}${rest}`, comment, members: [], bases: [] }
  })
}

function memberOf(node: ast.ClassElement | ast.TypeElement): Member[] {
  const isCall = ast.isMethodSignatureDeclaration(node) || ast.isMethodDeclaration(node)
  const isValue =
    ast.isPropertySignatureDeclaration(node) || ast.isPropertyDeclaration(node) || ast.isGetAccessorDeclaration(node)
  if (!isCall && !isValue) return []
  const name = node.name.getText()
  if (/^[#[]/.test(name) || node.jsDoc?.some((one) => one.getText().includes('@internal'))) return []
  const common = { name, ...documentation(node) }
  if (isCall) return [{ ...common, signature: callOf(node) }]
  const mark = 'postfixToken' in node && node.postfixToken ? '?' : ''
  return [{ ...common, signature: `${name}${mark}: ${oneLine(node.type)}` }]
}

type Call = ast.FunctionDeclaration | ast.MethodDeclaration | ast.MethodSignatureDeclaration

const callOf = (node: Call): string => `${node.name?.getText()}${parametersOf(node)}`

function parametersOf(node: Call | ast.ArrowFunction): string {
  const generic = node.typeParameters?.map((one) => oneLine(one)).join(', ')
  const parameters = node.parameters.map(({ name, questionToken, initializer, type }) => {
    const shown = ast.isIdentifier(name) ? name.text : 'options' // taken apart
    return `${shown}${questionToken || initializer ? '?' : ''}: ${oneLine(type)}`
  })
  return `${generic ? `<${generic}>` : ''}(${parameters.join(', ')}): ${oneLine(node.type)}`
}

/** Returns the source of a type on one line, without its comments. */
const oneLine = (node: ast.Node | undefined): string =>
  (node?.getText() ?? 'void')
    .replaceAll(/\/\*\*[\s\S]*?\*\/\s*/g, '')
    .replaceAll(/(?<=[^{(,|&=>\s])\n\s*(?=[^\s})|&])/g, '; ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/(?<=\() |,? (?=\))/g, '')

function documentation(node: ast.Node): { comment: string; default: string } {
  const source = node.jsDoc?.at(-1)?.getText() ?? ''
  const text = source.replaceAll(/^\/\*\*|\*\/$|^\s*\*(?!\/)/gm, ' ').replaceAll(/\s+/g, ' ')
  const [comment = '', value = ''] = text.split('@default')
  return { comment: comment.replaceAll(/\{@link (\w+)\}/g, '`$1`').trim(), default: value.trim() }
}
