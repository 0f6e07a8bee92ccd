import type { ChainFault } from '#integrity/audit/chain-walk.ts'
import type { Verified } from '#integrity/audit/verify.ts'
import { formText } from '../../forms/form.ts'
import type { FormSubmission, PanelPage, PanelRoute } from '../../route.ts'
import { Card, Facts, PanelBadge } from '../../ui/parts.tsx'

/** Faults of a ledger in words. */
export const FAULTS: Readonly<Record<ChainFault, string>> = {
  malformed: 'O evento guardado não pode ser lido.',
  wrong_stream: 'O evento é de outra empresa.',
  wrong_revision: 'Falta um evento, ou há um a mais, ou a ordem foi trocada.',
  wrong_hash: 'O conteúdo do evento foi alterado.',
  broken_chain: 'O evento não segue o anterior: um dos dois foi trocado.',
  time_goes_back: 'O evento é mais antigo do que o anterior.',
  columns_differ: 'Os dados guardados ao lado do evento não conferem com ele.',
  other_hash: 'O hash não é o já conhecido para este evento.',
  other_root: 'Até este evento, o registro de auditoria não é o que foi selado.',
  truncated: 'Os registros mais recentes foram removidos.',
  seal_altered: 'O último selo guardado não foi assinado pelo serviço.',
  beyond_head: 'Há eventos depois do último que o serviço registrou.',
}

const PATH = '/auditoria/conferir'

/** Verifies the company's stored ledger; a long one continues where the previous request ended. */
async function verify(submission: FormSubmission): Promise<PanelPage> {
  const { context, readModel, form } = submission
  const [after, hash] = [formText(form, 'apos'), formText(form, 'hash')]
  const isGoingOn = /^\d{1,15}$/.test(after) && /^[0-9a-f]{64}$/.test(hash)
  const before = isGoingOn ? { revision: Number(after), hash } : null
  const verified = await context.proofs.verifier.verify(readModel.companyId, before)
  const { valid, revision, hash: reached } = verified.verification
  const goesOn = valid && revision < verified.head
  return {
    title: 'Verificação de integridade',
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
        {!valid && <PanelBadge tone="bad">O registro de auditoria foi alterado</PanelBadge>}
        {isWhole && <PanelBadge tone="good">Registro de auditoria íntegro</PanelBadge>}
        {valid && !isWhole && <PanelBadge tone="warn">Verificado em parte</PanelBadge>}
      </p>
      <Facts
        facts={[
          ['Eventos verificados', checked],
          ['Do evento nº', from],
          ['Até o evento nº', `${revision} de ${head}`],
          ['Hash do último verificado', <code>{hash}</code>],
          ['Primeira falha no evento nº', first_error?.revision],
          ['Falha', first_error && FAULTS[first_error.reason]],
        ]}
      />
      <p class="hint">
        Para provar que nenhum registro recente foi removido, guarde um selo fora do sistema. Veja o guia do auditor.
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
