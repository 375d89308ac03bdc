mod exhaustion;
mod network;
mod proxy;
mod standstill;
mod table;
