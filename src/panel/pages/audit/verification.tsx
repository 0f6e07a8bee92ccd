import type { ChainFault } from '#integrity/audit/chain-walk.ts'
import type { Verified } from '#integrity/audit/verify.ts'
import { formText } from '../../forms/form.ts'
import type { FormSubmission, PanelPage, PanelRoute } from '../../route.ts'
import { Card, Facts, PanelBadge } from '../../ui/parts.tsx'

/** Faults of a ledger in words. */
export const FAULTS: Readonly<Record<ChainFault, string>> = {
  malformed: 'O evento guardado não pode ser lido.',
  wrong_stream: 'O evento é do livro de outra empresa.',
  wrong_revision: 'Falta um evento, ou há um a mais, ou a ordem foi trocada.',
  wrong_hash: 'O conteúdo do evento foi alterado.',
  broken_chain: 'O evento não segue o anterior: um dos dois foi trocado.',
  time_goes_back: 'O evento é mais antigo do que o anterior.',
  columns_differ: 'O que o banco guarda ao lado do evento não confere com ele.',
  other_hash: 'O hash não é o que já se conhecia para esta alteração.',
  other_root: 'Até esta alteração o livro não é o que foi selado.',
  truncated: 'O fim do livro foi cortado.',
  seal_altered: 'O que o serviço guarda do último selo não foi assinado por ele.',
  beyond_head: 'Há eventos depois do último que o serviço registrou.',
}

const PATH = '/auditoria/conferir'

/** Verifies the company's stored ledger; a long one continues where the previous request ended. */
async function verify(submission: FormSubmission): Promise<PanelPage> {
  const { context, readModel, form } = submission
  const [after, hash] = [formText(form, 'apos'), formText(form, 'hash')]
  const isGoingOn = /^\d{1,15}$/.test(after) && /^[0-9a-f]{64}$/.test(hash)
  const before = isGoingOn ? { revision: Number(after), hash } : null
  const verified = await context.verifier.verify(readModel.companyId, before)
  const { valid, revision, hash: reached } = verified.verification
  const goesOn = valid && revision < verified.head
  return {
    title: 'Conferência do livro',
    parent: { label: 'Auditoria', to: '/auditoria' },
    main: goesOn && { label: 'Continuar', to: PATH, values: { apos: String(revision), hash: reached } },
    body: <Result verified={verified} from={(before?.revision ?? -1) + 1} />,
  }
}

interface ResultProps {
  readonly verified: Verified
  /** First verified revision. */
  readonly from: number
}

const Result = ({ verified: { verification, head }, from }: ResultProps) => {
  const { valid, checked, revision, hash, first_error } = verification
  const isWhole = valid && revision >= head
  return (
    <Card title="Resultado">
      <p>
        {!valid && <PanelBadge tone="bad">O livro foi alterado</PanelBadge>}
        {isWhole && <PanelBadge tone="good">O livro está íntegro</PanelBadge>}
        {valid && !isWhole && <PanelBadge tone="warn">Conferido em parte</PanelBadge>}
      </p>
      <Facts
        facts={[
          ['Eventos conferidos', checked],
          ['Da alteração nº', from],
          ['Até a alteração nº', `${revision} de ${head}`],
          ['Hash do último conferido', <code>{hash}</code>],
          ...(first_error
            ? ([
                ['Primeira falha na alteração nº', first_error.revision],
                ['Falha', FAULTS[first_error.reason]],
              ] as const)
            : []),
        ]}
      />
      <p class="hint">
        Que o fim do livro não foi cortado por quem tem acesso ao banco só um selo guardado fora do serviço prova: veja
        o guia do auditor.
      </p>
    </Card>
  )
}

export const verifyForm: PanelRoute = {
  path: PATH,
  section: 'audit',
  access: 'see_audit',
  changes: false,
  submit: verify,
}
