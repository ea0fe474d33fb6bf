declare const graphology: { Graph: any; UndirectedGraph: any };
declare const Sigma: any;
