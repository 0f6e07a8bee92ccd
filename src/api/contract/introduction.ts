/** What holds for every operation. Plain paragraphs, lists and code only, because the page at /docs renders just these. */
export const INTRODUCTION = `\
Cadastros, vendas e contas de uma empresa, para sistemas de terceiros. Cada empresa tem um livro de eventos; listas, saldos e estoque são derivados dele.

**Autenticação.** Toda chamada leva \`Authorization: Bearer <chave>\`. A chave pertence à empresa, tem os escopos marcados na criação e nunca vai na URL. Só HTTPS é atendido; uma chamada por HTTP recebe 403 e não é redirecionada.

**Formas.**

- Um registro vem como \`{"data": {...}}\`, uma lista como \`{"data": [...], "meta": {...}}\`.
- Dinheiro é texto com exatamente duas casas decimais (\`"18.90"\`); quantidades são textos com até três e voltam com três (\`"1.500"\`). Números JSON são recusados.
- Datas com hora exigem fuso (\`Z\` vale) e voltam com o da empresa; dias são \`AAAA-MM-DD\`, no calendário da empresa.
- Campos e parâmetros desconhecidos são recusados com 422, também dentro de lotes. As respostas podem ganhar campos: ignore os que não conhece.
- Em PATCH, campo ausente fica como está e \`null\` o limpa. Em PUT, campo ausente é limpo, exceto o estoque.

**Listas.** \`limit\` vai de 1 a 200 (padrão 50) e \`cursor\` recebe o \`meta.next_cursor\` anterior. Sem \`updated_since\`, a ordem é a dos ids; com ele, a das mudanças, e usar \`meta.synced_at\` como o próximo \`updated_since\` nunca perde uma mudança. O que foi excluído sai das listas e aparece em \`/deleted\`.

**Repetições.** Todo POST aceita \`Idempotency-Key\`: com a mesma chave e o mesmo corpo, a resposta guardada volta por 24 horas com \`Idempotent-Replayed: true\`; com outro corpo, 409 \`idempotency_key_reuse\`. Só sucessos são guardados.

**Lotes.** Até 500 itens, cada um criado ou substituído pelo \`external_id\` e julgado por si; o lote conta como uma chamada. A resposta é 200 quando todos passam e 207 quando algum falha.

**Erros.** \`{"error": {"code", "message", "details", "request_id"}}\`: decida pelo \`code\`, mostre a \`message\`, guarde o \`request_id\`.

**Limites.** 120 chamadas por minuto e 50.000 por dia, por empresa, somadas as chaves. Toda resposta traz \`X-RateLimit-Limit\`, \`-Remaining\` e \`-Reset\`; um 429 ou 503 traz também \`Retry-After\`, em segundos.

**Versões.** A v1 só cresce: campos, operações e códigos novos. O que for incompatível será outra versão, ao lado desta.`
