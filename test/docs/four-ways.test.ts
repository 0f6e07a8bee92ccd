import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect } from 'chai'
import { type Expression, type Node, SyntaxKind } from 'typescript/unstable/ast'
import { API, type Checker, type Program, type Symbol as Sym, SymbolFlags } from 'typescript/unstable/sync'

/** A step of a way: a function, a member of a type, or what makes that member. */
interface Step {
  readonly relation: 'calls' | 'is made by' | 'is called by'
  readonly file: string
  readonly name: string
}

const STEP = /^\d+\. (?:(is made by|is called by) )?`([^`: ]+): ([\w.#]+)`/

/** Lists of steps in the section of the four ways, each with its heading. */
function waysOf(page: string): Map<string, Step[]> {
  const [, section = ''] = /^## Four ways$([\s\S]*?)(?=^## )/m.exec(page) ?? []
  const ways = new Map<string, Step[]>()
  let way: Step[] = []
  for (const line of section.split('\n')) {
    const [, heading] = /^(?:### |\*\*)(.*?)(?:\*\*.*)?$/.exec(line) ?? []
    if (heading !== undefined) {
      way = []
      ways.set(heading, way)
    }
    const [, relation = 'calls', file, name] = STEP.exec(line) ?? []
    if (file && name) way.push({ relation: relation as Step['relation'], file, name })
    else if (/^\d+\. /.test(line)) throw new Error(`a step names a file and a function: ${line}`)
  }
  for (const [heading, steps] of ways) if (steps.length === 0) ways.delete(heading)
  return ways
}

function* nodesOf(node: Node): Iterable<Node> {
  yield node
  const children: Node[] = []
  node.forEachChild((child) => void children.push(child))
  for (const child of children) yield* nodesOf(child)
}

/** Says what the compiler knows of the product's functions. */
function createCallGraph({ program, checker }: { readonly program: Program; readonly checker: Checker }) {
  const nameOf = (node: Node): (Node & { text: string }) | undefined =>
    (node as { name?: Node & { text: string } }).name

  /** Declarations of a file by name; members as `Type.member`. */
  function declarationOf({ file, name }: Step): Node {
    const source = program.getSourceFile(resolve(file))
    if (!source) throw new Error(`${file} does not exist`)
    let found: Node = source
    for (const part of name.split('.')) {
      const next = [...nodesOf(found)].find(
        (node) => node !== found && nameOf(node)?.text === part && isDeclaration(node),
      )
      if (!next) throw new Error(`${file} declares no ${name}`)
      found = next
    }
    return found
  }

  const resolved = (symbol: Sym | undefined): Sym | undefined =>
    symbol && symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  /** Where a symbol is declared: those of generic types have many symbols. */
  const placeOf = (symbol: Sym | undefined): string | undefined => {
    const [declared] = resolved(symbol)?.declarations ?? []
    return declared && `${declared.path} ${declared.index}`
  }
  const declaredAt = (declaration: Node): string =>
    placeOf(checker.getSymbolAtLocation(nameOf(declaration) as Node)) ?? 'nowhere'

  function calls(from: Node, to: Node): boolean {
    const wanted = declaredAt(to)
    const { text } = nameOf(to) as { text: string }
    return [...nodesOf(from)].some((node) => {
      if (node === nameOf(from) || (node as { text?: string }).text !== text) return false
      if (node.kind !== SyntaxKind.Identifier && node.kind !== SyntaxKind.PrivateIdentifier) return false
      if (placeOf(checker.getSymbolAtLocation(node)) === wanted) return true
      return placeOf(checker.getShorthandAssignmentValueSymbol(node.parent)) === wanted
    })
  }

  /** Whether it makes an object with the member of a type. */
  function makes(from: Node, member: Node): boolean {
    const wanted = declaredAt(member)
    const { text } = nameOf(member) as { text: string }
    return [...nodesOf(from)].some((node) => {
      if (node.kind !== SyntaxKind.ObjectLiteralExpression) return false
      const has = (node as unknown as { properties: readonly Node[] }).properties.some(
        (each) => nameOf(each)?.text === text,
      )
      const type = has ? checker.getContextualType(node as Expression) : undefined
      return (
        type !== undefined &&
        placeOf(checker.getPropertyOfType(checker.getNonNullableType(type) ?? type, text)) === wanted
      )
    })
  }

  return {
    /** Why a step does not follow from the one before; null if it does. */
    faultOf(before: Step, step: Step): string | null {
      const [from, to] = [declarationOf(before), declarationOf(step)]
      const isTrue = {
        calls: () => calls(from, to),
        'is made by': () => makes(to, from),
        'is called by': () => calls(to, from),
      }
      return isTrue[step.relation]()
        ? null
        : `${before.file}: ${before.name} ${step.relation.replace(/^is/, 'is not')} ${step.file}: ${step.name}`.replace(
            ' calls ',
            ' does not call ',
          )
    },
    declarationOf,
  }
}

const DECLARATIONS = new Set<SyntaxKind>([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.VariableDeclaration,
  SyntaxKind.ClassDeclaration,
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.MethodSignature,
  SyntaxKind.PropertySignature,
])
const isDeclaration = ({ kind }: Node): boolean => DECLARATIONS.has(kind)

describe('the four ways of the architecture', function () {
  this.timeout(180_000)
  let api: API
  let graph: ReturnType<typeof createCallGraph>
  before(() => {
    api = new API({ cwd: process.cwd() })
    const [project] = api.updateSnapshot({ openProject: resolve('tsconfig.json') }).getProjects()
    if (!project) throw new Error('the project cannot be opened')
    graph = createCallGraph(project)
  })
  after(() => api.close())

  const ways = waysOf(readFileSync('docs/ARCHITECTURE.md', 'utf8'))

  it('are those of a sale, an upload, a delivery and a list', () => {
    const text = [...ways.keys()].join('\n')
    for (const way of [
      /^A sale posted by API/m,
      /^An uploaded sale/m,
      /^A delivery of a webhook/m,
      /^A list of sales/m,
    ])
      expect(text).to.match(way)
    expect([...ways.values()].flat().length).to.be.above(40)
  })

  for (const [heading, steps] of ways)
    it(`lead on by calls: ${heading}`, () => {
      for (const [place, step] of steps.entries()) {
        const before = steps[place - 1]
        if (before) expect(graph.faultOf(before, step)).to.equal(null)
      }
    })

  const [first = [], ...others] = ways.values()
  const RUN: Step = { relation: 'calls', file: 'docs/none.ts', name: 'none' }
  it('are refused with a file, a function or a call that is not there', () => {
    const [begin, next] = first as [Step, Step]
    expect(() => graph.faultOf(begin, { ...next, file: RUN.file })).to.throw('docs/none.ts does not exist')
    expect(() => graph.faultOf(begin, { ...next, name: 'none' })).to.throw('declares no none')
    const stranger = others.at(-1)?.at(-1) as Step
    expect(graph.faultOf(begin, { ...stranger, relation: 'calls' })).to.match(/does not call/)
    expect(graph.faultOf(begin, { ...stranger, relation: 'is made by' })).to.match(/is not made by/)
    expect(() => waysOf('## Four ways\n1. from here to there\n## ')).to.throw('a step names a file and a function')
  })
})
