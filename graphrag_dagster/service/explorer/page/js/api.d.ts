export interface Overview {
  corpus: string;
  version: string | null;
}
