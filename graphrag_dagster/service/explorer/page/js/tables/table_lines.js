// @ts-check

/** Tables that people look for, the first of them first. */
export const FIRST_TABLES = ["entities", "communities", "documents", "files", "quarantine", "runs"];

/** @type {Record<string, string>} what is in a table, in a line */
export const TABLE_LINES = {
  entities: "People, places, organisations and things that the texts name.",
  communities: "Entities that belong together, each with a report.",
  documents: "What was read, with its text.",
  files: "Every file that was found, and whether it was read.",
  quarantine: "Extracted records that could not be used, with the reason.",
  runs: "Model calls of each run, and their cost.",
  relationships: "Which entities are related, and how strongly.",
  triples: "Statements as subject, relation and object.",
  claims: "Claims about entities: true, false or suspected.",
  metadata: "Dates, authors and other metadata of files.",
  periods: "Dates and periods that documents are about.",
  text_units: "The passages that documents were split into.",
  names: "Which names were merged, by whom and why.",
  summary: "Every count of the corpus in one place.",
  context_sizes: "How much text each search method reads.",
  models: "Run costs by step and model.",
};

/** @type {Record<string, string>} what it means that a table is empty */
export const EMPTY_TABLES = {
  quarantine: "Nothing was quarantined: all extracted records could be used.",
  runs: "No run has called a model.",
  models: "No run has called a model.",
  claims: "No claims were extracted. Whether they are is a setting of the corpus.",
};
