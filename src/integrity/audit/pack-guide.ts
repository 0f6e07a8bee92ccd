import type { Envelope } from '#ledger/envelope.ts'

/** A file of an audit pack beside the ledger. `name` is its path in the pack; long ones are read line by line. */
export type Evidence = { readonly name: string } & ({ readonly bytes: Buffer } | { lines(): AsyncIterable<string> })

/** Names of events for people. */
export interface PackWords {
  eventName(type: string): string
  subjectName(subject: string): string
  originName(origin: Envelope['origin']): string
  /** In the company's time zone. */
  timeOf(recorded_at: string): string
}

/** Content of an audit pack. */
export interface PackWanted {
  readonly companyId: number
  readonly companyName: string
  /** The last event included. */
  readonly head: { readonly revision: number; readonly hash: string }
  /** Events that the newest checkpoint covers, from revision 0; null if there is none. */
  readonly covered: number | null
  /** Whether the pack includes a file with personal data in clear text. */
  readonly isOpened: boolean
  readonly evidence: readonly Evidence[]
  readonly words: PackWords
  /** Creation time, UTC. */
  readonly now: string
}

const FILES: readonly (readonly [name: string, what: string])[] = [
  [
    'livro.jsonl',
    'todos os eventos, um por linha, exatamente como foram gravados e encadeados (dados pessoais lacrados)',
  ],
  [
    'indice.csv',
    'os mesmos eventos em palavras, para planilhas: revisão, quando, atividade, registro, origem, quem, hash',
  ],
  [
    'dados-abertos.jsonl',
    'o que cada evento diz com os dados pessoais abertos; nulo onde foram excluídos. Guarde-o com cuidado',
  ],
  ['provas/', 'o que foi assinado sobre o livro: checkpoints, chaves e suas sucessões'],
  ['tillbook-verify.mjs', 'o verificador: um só arquivo, que só precisa do Node'],
  ['proof.md', 'a especificação de todos os formatos, para quem quiser escrever o seu próprio verificador'],
]

/** Describes the newest checkpoint and the events that it does not cover yet. */
function coverage({ covered, head }: PackWanted): string {
  const events = head.revision + 1
  if (covered === null)
    return 'Nenhum checkpoint cobre este livro ainda: o encadeamento pode ser conferido, mas nada prova que o fim não foi cortado.'
  if (covered >= events) return `O checkpoint mais novo cobre todos os ${events} eventos deste pacote.`
  return `O checkpoint mais novo cobre os primeiros ${covered} eventos. Os das revisões ${covered} a ${head.revision} ainda não são cobertos: peça outro pacote depois da próxima hora cheia.`
}

/** README of the pack: its content and how to verify it. */
export function guideOf(wanted: PackWanted): string {
  const { companyName, companyId, head, isOpened, evidence, now } = wanted
  const has = new Set([
    'livro.jsonl',
    'indice.csv',
    ...(isOpened ? ['dados-abertos.jsonl'] : []),
    ...evidence.map(({ name }) => name),
  ])
  const isThere = (name: string) => has.has(name) || [...has].some((file) => file.startsWith(name))
  const files = FILES.filter(([name]) => isThere(name)).map(([name, what]) => `  ${name.padEnd(22)}${what}`)
  const proofs = [...has].filter((name) => /^provas\/.*\.(checkpoints|jsonl|tlog-proof)$/.test(name))
  const check = has.has('tillbook-verify.mjs')
    ? `  node tillbook-verify.mjs --key CHAVE livro.jsonl ${proofs.join(' ')}`.trimEnd()
    : '  tillbook ledger verify --file livro.jsonl'
  return `PACOTE DE AUDITORIA
${companyName} (empresa ${companyId})
Feito em ${now} (UTC)
Eventos: ${head.revision + 1}, das revisões 0 a ${head.revision}
Hash do último: ${head.hash}

${coverage(wanted)}

O QUE HÁ AQUI

${files.join('\n')}

COMO CONFERIR

Com o Node 20 ou mais novo, nesta pasta:

${check}

CHAVE é a chave pública (ou o arquivo delas) que você recebeu quando conheceu o
serviço, ou de GET /proof/keys; sem ela fica em aberto de quem são as assinaturas.
Um carimbo de tempo se confere com o OpenSSL, sobre o texto que foi assinado (as
linhas de provas/installation.checkpoint até a linha em branco, exclusive):

  sed '/^$/,$d' provas/installation.checkpoint > checkpoint.txt
  openssl ts -verify -in provas/carimbo-1.tsr -data checkpoint.txt -CAfile AUTORIDADE.pem

Nada é pedido ao serviço: a conferência recalcula o hash de cada evento e o
encadeamento desde a revisão 0, e compara com o que foi assinado. Compare também
com os checkpoints e recibos que você ou terceiros guardaram antes: basta pôr os
arquivos deles no fim do mesmo comando. O que está em provas/ foi posto aqui pelo próprio serviço.

O último evento conferido deve ser o da revisão ${head.revision}, com o hash acima.
`
}
