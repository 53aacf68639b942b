// From what the command line has said to the command that does it.
#pragma once

#include <string>

#include "apps/tune/commands.h"

namespace tune {

/// What the command line can say, filled in by the parser.
struct Line {
  SpecSource spec;
  RunStyle style;
  ResumeRequest resume;
  AgentRequest agent;
  SubmitRequest submit;
  BatchRequest batch;
  RemoteRequest remote;
  ListRequest list;
  CompareRequest compare;
  NoteRequest note;
  ExportRequest exported;
  BestRequest best;
  CheckpointsRequest checkpoints;
  DiffRequest diff;
  LineageRequest lineage;
  ReportRequest report;
  PlotRequest plot;
  DashboardRequest dashboard;
  ImportanceRequest importance;
  AskRequest ask;
  TellRequest tell;
  ControlOptions control;
  SimulateRequest simulate;
  CheckRequest check;
  ShowRequest show;
  StatusRequest status;
  LogsRequest logs;
  EventsRequest events;
  std::string resume_mode = "never";
  std::string directory;
  InitRequest init;
  bool json = false;
  std::vector<std::string> schema_of;  ///< words of a command
};

/// Carries out the command of that name, and answers with the exit code. Throws Error.
int carry_out(const std::string& name, Line& line);

}  // namespace tune
