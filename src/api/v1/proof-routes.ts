import * as z from 'zod'
import { limitedText } from '#domain/text.ts'
import { Problem } from '#http/problems.ts'
import type { SignedCheckpoint } from '#integrity/checkpoint-log.ts'
import { readModelHead } from '#queries/event-queries.ts'
import { asInteger, QueryFlag } from '#records/field.ts'
import { type ReadAnswer, type Route, readRoute, single } from '../api-route.ts'
import { singleSchema } from '../contract/contract-document.ts'

const scope = 'audit:read'

const SIZE = /^(0|[1-9]\d{0,14})$/

/** Tree size in a query string. */
const QuerySize = limitedText(20)
  .regex(SIZE, 'deve ser um tamanho da árvore do livro: um número inteiro a partir de 0')
  .transform(Number)
  .meta({ override: asInteger({ minimum: 0 }) })

const Size = z.int().min(0)
/** SHA-256, base64. */
export const TreeHash = limitedText(44).regex(/^[A-Za-z0-9+/]{43}=$/)

/** Inclusion path of the first of the eight standard test leaves of RFC 6962 implementations. */
const PATH = [
  'lqKW0iTyhcZ77pPDD4owkVfw2qNdxbh+QQt4YwoJz8c=',
  'Xwg/ChozygdqlSeYMlgNs+DvRYS9/x9UyKNg9Q3jAx4=',
  'a0eq8p7jwq+a+Im8H7klTavTEXfxYjLdaqsDXKOb9uQ=',
]
const ROOT = 'XcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg='
const GROWTH = {
  from: 6,
  to: 8,
  from_root: 'duZ9rbzfHhDht03cYIq9L5jfsW+851J3tSMqEn8gh+8=',
  to_root: ROOT,
  hashes: [
    'DrxdNDf74tsVi58Sah0RjjCBgQMdCpSfje3t68VY72o=',
    'yoVOoSjtBQtBs1/8G4e46yveRh6eO1WW7Oa51ZdaCuA=',
    '037kGJdt2VdTwcc4Yrk5j6Kiz5tP8P3+izDNlSCWFLc=',
  ],
}
const ORIGIN = 'tillbook/0198c1f2-7e1a-7c3e-8a55-6f1f3d9f0b11/company-1'
const NOTE = `${ORIGIN}\n8\n${ROOT}\n\n— ${ORIGIN} ${'A'.repeat(91)}=\n`

const EventProof = z
  .strictObject({
    revision: z.int().min(0),
    hash: limitedText(64).regex(/^[0-9a-f]{64}$/),
    size: Size,
    root: TreeHash,
    hashes: z.array(TreeHash),
    checkpoint: z.string().nullable(),
  })
  .meta({
    id: 'EventProof',
    examples: [
      {
        revision: 0,
        hash: '9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab',
        size: 8,
        root: ROOT,
        hashes: PATH,
        checkpoint: NOTE,
      },
    ],
  })

const LedgerGrowth = z
  .strictObject({ from: Size, to: Size, from_root: TreeHash, to_root: TreeHash, hashes: z.array(TreeHash) })
  .meta({
    id: 'LedgerGrowth',
    examples: [GROWTH],
  })

const Checkpoint = z
  .strictObject({ size: Size, root: TreeHash, made_at: z.iso.datetime({ precision: 3 }), note: z.string() })
  .meta({ id: 'Checkpoint', examples: [{ size: 8, root: ROOT, made_at: '2026-11-21T11:17:15.123Z', note: NOTE }] })

const CheckpointPlace = z
  .strictObject({ size: Size, index: z.int().min(0), entry: z.string(), proof: z.string() })
  .meta({
    id: 'CheckpointPlace',
    examples: [
      {
        size: 8,
        index: 2,
        entry: NOTE.slice(0, NOTE.indexOf('\n\n') + 1),
        proof: `c2sp.org/tlog-proof@v1\nindex 2\n${PATH[0]}\n\n${NOTE.replaceAll('/company-1', '')}`,
      },
    ],
  })

const base64 = (hash: Buffer): string => hash.toString('base64')

/** A tree of `size` events ends at revision `size - 1`. */
const answer = (size: number, data: object): ReadAnswer => ({
  body: single(JSON.stringify(data)),
  ...(size > 0 && { revision: size - 1 }),
})

/** The size exceeds the ledger, or does not cover the requested event. */
const noSuchSize = (field: string, available: number): Problem =>
  new Problem('validation_failed', {
    fields: { [field]: [`o livro tem ${available} eventos: deve cobrir o que se pede e não passar disso`] },
    unknown_fields: [],
  })

const answerCheckpoint = ({ size, root, made_at, note }: SignedCheckpoint): ReadAnswer =>
  answer(size, { size, root: base64(root), made_at, note })

/** Inclusion and consistency proofs for holders of checkpoints (PROOF-7, PROOF-8). */
export const proofRoutes: readonly Route[] = [
  readRoute({
    path: '/events/:revision/proof',
    scope,
    operation: 'proveEvent',
    summary: 'Prova que um evento está no livro',
    description:
      'A prova de inclusão (RFC 6962, seção 2.1.1) do evento na árvore do livro, cujas folhas são os hashes dos eventos na ordem das revisões; é conferida antes de ser respondida. Sem `size`, a árvore é a do checkpoint mais novo, se ele já cobre o evento, e `checkpoint` o traz assinado; senão, a árvore como está. Guarde o checkpoint fora do serviço: com ele a prova vale sem nós. O guia do auditor mostra a conferência.',
    query: z.strictObject({ size: QuerySize.optional() }),
    reply: singleSchema(EventProof),
    async read({ prover, caller, params, query: { size = null } }) {
      const revision = SIZE.test(params.revision ?? '') ? Number(params.revision) : null
      const proof = revision === null ? null : await prover.inclusion(caller.companyId, revision, size)
      if (!proof) return null
      if ('available' in proof) throw noSuchSize('size', proof.available)
      const { root, hashes, ...rest } = proof
      return answer(proof.size, { ...rest, root: base64(root), hashes: hashes.map(base64) })
    },
  }),
  readRoute({
    path: '/events/consistency',
    scope,
    operation: 'proveGrowth',
    summary: 'Prova que o livro só cresceu',
    description:
      'A prova de consistência (RFC 6962, seção 2.1.2) entre duas árvores do livro: a de tamanho `to` começa com todos os eventos da de tamanho `from`. `from` é o tamanho de um checkpoint que você guardou; sem `to`, o livro como está.',
    query: z.strictObject({
      from: QuerySize.meta({ description: 'Tamanho da árvore anterior.' }),
      to: QuerySize.optional().meta({ description: 'Tamanho da árvore posterior.' }),
    }),
    reply: singleSchema(LedgerGrowth),
    async read({ prover, caller, query }) {
      const proof = await prover.consistency(caller.companyId, query.from, query.to ?? null)
      if ('available' in proof) throw noSuchSize(query.to === undefined ? 'from' : 'to', proof.available)
      const { from, to, fromRoot, root, hashes } = proof
      return answer(to, { from, to, from_root: base64(fromRoot), to_root: base64(root), hashes: hashes.map(base64) })
    },
  }),
  readRoute({
    path: '/events/checkpoint',
    scope,
    operation: 'getCheckpoint',
    summary: 'Consulta o checkpoint mais novo do livro',
    description:
      'O tamanho e a raiz da árvore do livro, assinados (signed note e checkpoint da C2SP). O serviço faz um a cada rodada; com `fresh=true`, um que cobre todos os eventos de agora, no máximo um por segundo. O que ele cobre não pode mais ser alterado sem que quem o guardou o mostre.',
    query: z.strictObject({ fresh: QueryFlag }),
    reply: singleSchema(Checkpoint),
    refusals: ['not_found'],
    async read({ reader, proof, caller: { companyId }, query: { fresh } }) {
      const checkpoint = fresh
        ? await proof.checkpointOf(companyId, (await readModelHead(reader)).revision + 1)
        : await proof.newest(companyId)
      return checkpoint && answerCheckpoint(checkpoint)
    },
  }),
  readRoute({
    path: '/events/checkpoint/place',
    scope,
    operation: 'getCheckpointPlace',
    summary: 'Prova o lugar do livro entre todos os da instalação',
    description:
      'A cada rodada o checkpoint de cada empresa entra no livro da instalação, cujo checkpoint as testemunhas e a autoridade do tempo recebem. `proof` (tlog-proof da C2SP) prova que `entry`, o texto do último checkpoint desta empresa que entrou, está nele. Nada mostra das outras empresas.',
    reply: singleSchema(CheckpointPlace),
    refusals: ['not_found'],
    async read({ proof, caller }) {
      const place = await proof.placeOf(caller.companyId)
      if (!place) return null
      const { size, index, entry, proof: text } = place
      return answer(size, { size, index, entry, proof: text })
    },
  }),
]
